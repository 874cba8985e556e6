package peer;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A RocketMQ client driven through its standard streams: one JSON object per line.
 *
 * <pre>
 *   in    {"id": 1, "op": "send", ...}
 *   out   {"id": 1, "result": ...}  or  {"id": 1, "error": {"type", "message", "code"}}
 *   out   {"event": "message", "client": "c1", ...}      at any time
 * </pre>
 *
 * Commands run side by side, so that one that waits holds up no other. The end of the input ends the program.
 */
public final class Main {
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err); // what libraries print is not an answer
        Commands commands = new Commands();
        ExecutorService workers = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject command = JSON.parseObject(line);
            workers.execute(() -> answer(command.get("id"), commands, command));
        }
        Runtime.getRuntime().halt(0); // clients still open vanish as those of a killed program do
    }

    private static void answer(Object id, Commands commands, JSONObject command) {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("id", id);
        try {
            reply.put("result", Json.plain(commands.run(command)));
        } catch (Throwable error) {
            reply.put("error", Json.error(error));
        }
        write(reply);
    }

    /** Tell of something that nobody asked for just now. */
    static void emit(String event, String client, Map<String, Object> details) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.put("client", client);
        line.putAll(details);
        write(line);
    }

    static void write(Map<String, Object> line) {
        String text = Json.text(line);
        synchronized (OUT) {
            OUT.print(text);
            OUT.print('\n');
            OUT.flush();
        }
    }
}
