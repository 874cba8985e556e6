package peer;

import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * A push consumer that reports every message and treats it as its script says:
 * {"failTimes": fail while reconsumeTimes is below this, "sleepMs", "delayLevel", "suspendMs", "throw": true,
 * "replyWith": a producer, "reply": base64}.
 */
final class Listening {
    final DefaultMQPushConsumer consumer;
    volatile JSONObject script;
    private final String client;
    private final Map<String, Sending> producers;

    private Listening(String client, DefaultMQPushConsumer consumer, JSONObject script, Map<String, Sending> producers) {
        this.client = client;
        this.consumer = consumer;
        this.script = script == null ? new JSONObject() : script;
        this.producers = producers;
    }

    static Listening create(String client, JSONObject command, RPCHook hook, Map<String, Sending> producers) {
        boolean trace = command.getBooleanValue("trace");
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
                command.getString("group"), hook, new AllocateMessageQueueAveragely(), trace, null);
        Listening listening = new Listening(client, consumer, command.getJSONObject("script"), producers);
        if (command.getBooleanValue("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) listening::consumeOrderly);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) listening::consumeConcurrently);
        }
        return listening;
    }

    void subscribe(JSONArray subscriptions) throws Exception {
        for (int i = 0; i < subscriptions.size(); i++) {
            JSONObject one = subscriptions.getJSONObject(i);
            consumer.subscribe(one.getString("topic"), Commands.selector(one));
        }
    }

    private ConsumeConcurrentlyStatus consumeConcurrently(
            List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        boolean good = handle(messages);
        if (script.containsKey("delayLevel")) {
            context.setDelayLevelWhenNextConsume(script.getIntValue("delayLevel"));
        }
        return good ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
    }

    private ConsumeOrderlyStatus consumeOrderly(List<MessageExt> messages, ConsumeOrderlyContext context) {
        boolean good = handle(messages);
        if (script.containsKey("suspendMs")) {
            context.setSuspendCurrentQueueTimeMillis(script.getLongValue("suspendMs"));
        }
        return good ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
    }

    private boolean handle(List<MessageExt> messages) {
        JSONObject now = script;
        boolean good = true;
        for (MessageExt message : messages) {
            good &= message.getReconsumeTimes() >= now.getIntValue("failTimes");
        }
        for (MessageExt message : messages) {
            report(message, messages.size(), good);
        }
        pause(now.getLongValue("sleepMs"));
        if (!good && now.getBooleanValue("throw")) {
            throw new IllegalStateException("as the script says");
        }
        if (now.containsKey("replyWith")) {
            messages.forEach(message -> reply(message, now));
        }
        return good;
    }

    private void report(MessageExt message, int batch, boolean good) {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("message", Messages.describe(message));
        details.put("batch", batch);
        details.put("good", good);
        details.put("thread", Thread.currentThread().getName());
        Main.emit("message", client, details);
    }

    private void reply(MessageExt message, JSONObject now) {
        try {
            byte[] body = Base64.getDecoder().decode(now.getString("reply"));
            producers.get(now.getString("replyWith")).producer.send(MessageUtil.createReplyMessage(message, body));
        } catch (Exception error) {
            Main.emit("reply_failed", client, Map.of("error", Json.error(error)));
        }
    }

    private static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
