package peer;

import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Messages and queues as JSON, both ways. */
final class Messages {
    private Messages() {}

    static List<Message> readAll(JSONObject command) {
        List<Message> messages = new ArrayList<>();
        for (Object one : command.getJSONArray("messages")) {
            messages.add(read((JSONObject) one));
        }
        return messages;
    }

    static Message read(JSONObject from) {
        Message message = new Message();
        message.setTopic(from.getString("topic"));
        message.setBody(Base64.getDecoder().decode(from.getString("body")));
        JSONObject properties = from.getJSONObject("properties");
        if (properties != null) {
            properties.forEach((name, value) -> putProperty(message, name, (String) value));
        }
        for (String name : List.of("tags", "keys", "flag", "delayTimeLevel", "waitStoreMsgOK", "delayTimeMs",
                "delayTimeSec", "deliverTimeMs")) {
            if (from.get(name) != null) {
                Beans.set(message, name, from.get(name));
            }
        }
        return message;
    }

    private static void putProperty(Message message, String name, String value) {
        if (MessageConst.STRING_HASH_SET.contains(name)) {
            MessageAccessor.putProperty(message, name, value);
        } else {
            message.putUserProperty(name, value);
        }
    }

    static MessageQueue queue(JSONObject from) {
        return new MessageQueue(from.getString("topic"), from.getString("brokerName"), from.getIntValue("queueId"));
    }

    static Map<String, Object> describe(Message message) {
        Map<String, Object> to = new LinkedHashMap<>();
        to.put("topic", message.getTopic());
        to.put("body", message.getBody() == null ? null : Base64.getEncoder().encodeToString(message.getBody()));
        to.put("flag", message.getFlag());
        to.put("tags", message.getTags());
        to.put("keys", message.getKeys());
        to.put("properties", message.getProperties());
        if (message instanceof MessageExt) {
            describeStored((MessageExt) message, to);
        }
        return to;
    }

    private static void describeStored(MessageExt message, Map<String, Object> to) {
        to.put("msgId", message.getMsgId());
        to.put("offsetMsgId",
                message instanceof MessageClientExt ? ((MessageClientExt) message).getOffsetMsgId() : null);
        to.put("brokerName", message.getBrokerName());
        to.put("queueId", message.getQueueId());
        to.put("queueOffset", message.getQueueOffset());
        to.put("commitLogOffset", message.getCommitLogOffset());
        to.put("storeSize", message.getStoreSize());
        to.put("sysFlag", message.getSysFlag());
        to.put("bodyCRC", message.getBodyCRC());
        to.put("bornTimestamp", message.getBornTimestamp());
        to.put("bornHost", String.valueOf(message.getBornHost()));
        to.put("storeTimestamp", message.getStoreTimestamp());
        to.put("storeHost", String.valueOf(message.getStoreHost()));
        to.put("reconsumeTimes", message.getReconsumeTimes());
        to.put("preparedTransactionOffset", message.getPreparedTransactionOffset());
        to.put("transactionId", message.getTransactionId());
    }
}
