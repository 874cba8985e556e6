package peer;

import com.alibaba.fastjson.JSONObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * mqadmin without a JVM per command: MQAdminStartup runs here, one command at a time, with its output caught.
 *
 * A command that calls System.exit (a parse error does) takes this JVM with it; what it printed is answered on the way
 * out, and the exit code is the JVM's.
 */
final class MqAdmin {
    private static Capture running;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(MqAdmin::answerOnExit));
    }

    private MqAdmin() {}

    static synchronized Object run(JSONObject command) throws ReflectiveOperationException {
        knownCommands().clear(); // main0 adds them all again
        Capture capture = new Capture(command.get("id"));
        running = capture;
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(capture.out);
        System.setErr(capture.err);
        try (Hurry hurry = new Hurry()) {
            MQAdminStartup.main0(command.getJSONArray("args").toArray(new String[0]), null);
        } finally {
            running = null;
            System.setOut(out);
            System.setErr(err);
        }
        return capture.content(0);
    }

    private static List<?> knownCommands() throws ReflectiveOperationException {
        for (String name : List.of("SUB_COMMANDS", "subCommandList")) {
            try {
                var field = MQAdminStartup.class.getDeclaredField(name);
                field.setAccessible(true);
                return (List<?>) field.get(null);
            } catch (NoSuchFieldException renamed) {
                // the name changed in 5.x
            }
        }
        throw new NoSuchFieldException("the list of mqadmin's commands");
    }

    private static void answerOnExit() {
        Capture capture = running;
        if (capture != null) {
            Map<String, Object> reply = new LinkedHashMap<>();
            reply.put("id", capture.id);
            reply.put("result", capture.content(null));
            Main.write(reply);
        }
    }

    private static final class Capture {
        final Object id;
        final ByteArrayOutputStream outBytes = new ByteArrayOutputStream();
        final ByteArrayOutputStream errBytes = new ByteArrayOutputStream();
        final PrintStream out = new PrintStream(outBytes, true, StandardCharsets.UTF_8);
        final PrintStream err = new PrintStream(errBytes, true, StandardCharsets.UTF_8);

        Capture(Object id) {
            this.id = id;
        }

        /** A null exit code: the JVM is ending, its own code says. */
        Map<String, Object> content(Integer exit) {
            Map<String, Object> to = new LinkedHashMap<>();
            to.put("stdout", outBytes.toString(StandardCharsets.UTF_8));
            to.put("stderr", errBytes.toString(StandardCharsets.UTF_8));
            to.put("exit", exit);
            return to;
        }
    }
}
