package peer;

import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/** A producer and the three ways it sends; a transactional one answers checks as its script says. */
final class Sending implements TransactionListener {
    final DefaultMQProducer producer;
    private final String client;
    private JSONObject script = new JSONObject();

    private Sending(String client, DefaultMQProducer producer) {
        this.client = client;
        this.producer = producer;
    }

    static Sending create(String client, JSONObject command, RPCHook hook) {
        String group = command.getString("group");
        if (!command.getBooleanValue("transactional")) {
            boolean trace = command.getBooleanValue("trace");
            return new Sending(client, new DefaultMQProducer(group, hook, trace, null));
        }
        TransactionMQProducer producer = new TransactionMQProducer(group, hook);
        Sending sending = new Sending(client, producer);
        producer.setTransactionListener(sending);
        return sending;
    }

    /** {"mode": "sync" | "async" | "oneway", "batch", "messages", "queue", "shard", "timeout"}: a list of results. */
    Object send(JSONObject command) throws Exception {
        List<Message> messages = Messages.readAll(command);
        long timeout = command.getLongValue("timeout");
        JSONObject at = command.getJSONObject("queue");
        MessageQueue queue = at == null ? null : Messages.queue(at);
        if (command.getBooleanValue("batch")) {
            return List.of(queue == null ? producer.send(messages, timeout) : producer.send(messages, queue, timeout));
        }
        String shard = command.getString("shard");
        switch (command.getString("mode")) {
            case "oneway":
                return sendOneway(messages, queue, shard);
            case "async":
                return sendAsync(messages, queue, shard, timeout);
            default:
                return sendSync(messages, queue, shard, timeout);
        }
    }

    private List<SendResult> sendSync(List<Message> messages, MessageQueue queue, String shard, long timeout)
            throws Exception {
        List<SendResult> results = new ArrayList<>();
        for (Message message : messages) {
            if (queue != null) {
                results.add(producer.send(message, queue, timeout));
            } else if (shard != null) {
                results.add(producer.send(message, new SelectMessageQueueByHash(), shard, timeout));
            } else {
                results.add(producer.send(message, timeout));
            }
        }
        return results;
    }

    private List<SendResult> sendAsync(List<Message> messages, MessageQueue queue, String shard, long timeout)
            throws Exception {
        List<Awaited<SendResult>> awaited = new ArrayList<>();
        for (Message message : messages) {
            Acknowledged one = new Acknowledged();
            awaited.add(one.sent);
            if (queue != null) {
                producer.send(message, queue, one, timeout);
            } else if (shard != null) {
                producer.send(message, new SelectMessageQueueByHash(), shard, one, timeout);
            } else {
                producer.send(message, one, timeout);
            }
        }
        List<SendResult> results = new ArrayList<>();
        for (Awaited<SendResult> one : awaited) {
            results.add(one.result());
        }
        return results;
    }

    private List<SendResult> sendOneway(List<Message> messages, MessageQueue queue, String shard) throws Exception {
        for (Message message : messages) {
            if (queue != null) {
                producer.sendOneway(message, queue);
            } else if (shard != null) {
                producer.sendOneway(message, new SelectMessageQueueByHash(), shard);
            } else {
                producer.sendOneway(message);
            }
        }
        return List.of();
    }

    /** By selector and callback: the plain forms of 5.3.3 give up as soon as the request is sent. */
    Object request(JSONObject command) throws Exception {
        Message message = Messages.read(command.getJSONObject("message"));
        Awaited<Message> reply = new Awaited<>();
        RequestCallback callback = new RequestCallback() {
            @Override
            public void onSuccess(Message answer) {
                reply.complete(answer);
            }

            @Override
            public void onException(Throwable error) {
                reply.completeExceptionally(error);
            }
        };
        producer.request(message, new SelectMessageQueueByHash(), "", callback, command.getLongValue("timeout"));
        return reply.result();
    }

    /** {"message", "state"}: the local transaction ends in `state`. */
    Object transact(JSONObject command) throws Exception {
        Message message = Messages.read(command.getJSONObject("message"));
        return producer.sendMessageInTransaction(message, command.getString("state"));
    }

    synchronized void script(JSONObject answers) {
        script = answers;
    }

    @Override
    public LocalTransactionState executeLocalTransaction(Message message, Object state) {
        return LocalTransactionState.valueOf((String) state);
    }

    @Override
    public LocalTransactionState checkLocalTransaction(MessageExt message) {
        LocalTransactionState state = LocalTransactionState.valueOf(nextAnswer(message.getKeys()));
        Main.emit("check", client, Map.of("message", Messages.describe(message), "state", state.name()));
        return state;
    }

    /** {"checks": {key: [states]}, "check": [states]}: each list is used up from its front; its last state stays. */
    private synchronized String nextAnswer(String key) {
        JSONObject byKey = script.getJSONObject("checks");
        JSONArray states = byKey == null || key == null ? null : byKey.getJSONArray(key);
        if (states == null) {
            states = script.getJSONArray("check");
        }
        if (states == null) {
            return LocalTransactionState.UNKNOW.name();
        }
        return states.size() > 1 ? (String) states.remove(0) : states.getString(0);
    }

    private static final class Awaited<T> extends CompletableFuture<T> {
        T result() throws Exception {
            try {
                return get();
            } catch (ExecutionException error) {
                throw error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
            }
        }
    }

    private static final class Acknowledged implements SendCallback {
        final Awaited<SendResult> sent = new Awaited<>();

        @Override
        public void onSuccess(SendResult result) {
            sent.complete(result);
        }

        @Override
        public void onException(Throwable error) {
            sent.completeExceptionally(error);
        }
    }
}
