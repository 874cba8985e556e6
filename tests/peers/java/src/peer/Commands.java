package peer;

import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The commands by name, and the clients they made by the id the test gave them. */
final class Commands {
    private final Map<String, Object> clients = new ConcurrentHashMap<>();
    private final Map<String, Sending> producers = new ConcurrentHashMap<>();
    private final Map<String, Listening> listeners = new ConcurrentHashMap<>();

    Object run(JSONObject command) throws Throwable {
        String client = command.getString("client");
        switch (command.getString("op")) {
            case "ping":
                return System.getProperty("rocketmq.serialize.type");
            case "producer":
                return register(client, startProducer(client, command));
            case "push_consumer":
                return register(client, startPushConsumer(client, command));
            case "lite_pull_consumer":
                return register(client, startLitePull(client, command));
            case "pull_consumer":
                return register(client, startPull(client, command));
            case "admin":
                return register(client, startAdmin(client, command));
            case "send":
                return producer(client).send(command);
            case "request":
                return producer(client).request(command);
            case "transact":
                return producer(client).transact(command);
            case "script":
                return script(client, command.getJSONObject("script"));
            case "assigned":
                return Beans.assignedQueues(client(client));
            case "track":
                return track((DefaultMQAdminExt) client(client), command);
            case "call":
                return Beans.call(client(client), command);
            case "shutdown":
                return shutdown(client);
            case "mqadmin":
                return MqAdmin.run(command);
            default:
                throw new IllegalArgumentException("no command " + command.getString("op"));
        }
    }

    private Object startProducer(String client, JSONObject command) throws Exception {
        Sending sending = Sending.create(client, command, hook(command));
        configure(sending.producer, client, command);
        sending.producer.start();
        producers.put(client, sending);
        return sending.producer;
    }

    private Object startPushConsumer(String client, JSONObject command) throws Exception {
        Listening listening = Listening.create(client, command, hook(command), producers);
        configure(listening.consumer, client, command);
        listening.subscribe(command.getJSONArray("subscriptions"));
        listening.consumer.start();
        listeners.put(client, listening);
        return listening.consumer;
    }

    private Object startLitePull(String client, JSONObject command) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(command.getString("group"), hook(command));
        configure(consumer, client, command);
        JSONArray subscriptions = command.getJSONArray("subscriptions");
        for (int i = 0; subscriptions != null && i < subscriptions.size(); i++) {
            JSONObject one = subscriptions.getJSONObject(i);
            consumer.subscribe(one.getString("topic"), selector(one));
        }
        consumer.start();
        return consumer;
    }

    private Object startPull(String client, JSONObject command) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(command.getString("group"), hook(command));
        configure(consumer, client, command);
        consumer.start();
        return consumer;
    }

    private Object startAdmin(String client, JSONObject command) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(hook(command), command.getLongValue("timeout"));
        configure(admin, client, command);
        admin.start();
        return admin;
    }

    /** {"topic", "message"}: who has consumed the message and who has not. */
    private static Object track(DefaultMQAdminExt admin, JSONObject command) throws Exception {
        return admin.messageTrackDetail(admin.viewMessage(command.getString("topic"), command.getString("message")));
    }

    /** Clients of one JVM would share a client id, and with it connections and subscriptions, but for their names. */
    private static void configure(ClientConfig config, String client, JSONObject command) {
        config.setNamesrvAddr(command.getString("nameserver"));
        config.setInstanceName(client + "#" + ProcessHandle.current().pid());
        config.setClientIP("127.0.0.1");
        config.setVipChannelEnabled(false);
        JSONObject options = command.getJSONObject("options");
        if (options != null) {
            options.forEach((name, value) -> Beans.set(config, name, value));
        }
    }

    static MessageSelector selector(JSONObject subscription) {
        String sql = subscription.getString("sql");
        return sql != null ? MessageSelector.bySql(sql) : MessageSelector.byTag(subscription.getString("tags"));
    }

    private static RPCHook hook(JSONObject command) {
        List<Object> keys = command.getJSONArray("acl");
        return keys == null
                ? null
                : new AclClientRPCHook(new SessionCredentials((String) keys.get(0), (String) keys.get(1)));
    }

    private Object register(String client, Object made) {
        clients.put(client, made);
        return ((ClientConfig) made).buildMQClientId();
    }

    private Object client(String name) {
        Object found = clients.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no client " + name);
        }
        return found;
    }

    private Sending producer(String name) {
        client(name);
        return producers.get(name);
    }

    private Object script(String client, JSONObject script) {
        if (producers.containsKey(client)) {
            producers.get(client).script(script);
        } else {
            listeners.get(client).script = script;
        }
        return null;
    }

    private Object shutdown(String client) throws Throwable {
        Object gone = client(client);
        clients.remove(client);
        producers.remove(client);
        listeners.remove(client);
        try (Hurry hurry = new Hurry()) {
            return gone.getClass().getMethod("shutdown").invoke(gone);
        }
    }
}
