package peer;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.common.message.Message;

/** RocketMQ's answers as plain maps, lists and scalars: every getter of a bean, whatever the client's version. */
final class Json {
    private static final int DEEPEST = 12;

    private Json() {}

    static String text(Object value) {
        return JSON.toJSONString(
                value, SerializerFeature.DisableCircularReferenceDetect, SerializerFeature.WriteMapNullValue);
    }

    static Object plain(Object value) {
        return plain(value, 0);
    }

    private static Object plain(Object value, int depth) {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof String) {
            return value;
        }
        if (value instanceof byte[]) {
            return Base64.getEncoder().encodeToString((byte[]) value);
        }
        if (value instanceof Message) {
            return Messages.describe((Message) value);
        }
        if (value instanceof Map) {
            return plainMap((Map<?, ?>) value, depth);
        }
        if (value instanceof Collection) {
            return plainList(((Collection<?>) value).toArray(), depth);
        }
        if (value.getClass().isArray()) {
            return plainList(value, depth);
        }
        boolean bean = value.getClass().getName().startsWith("org.apache.rocketmq.") && !(value instanceof Enum);
        return bean && depth < DEEPEST ? plainBean(value, depth) : String.valueOf(value);
    }

    private static List<Object> plainList(Object array, int depth) {
        List<Object> to = new ArrayList<>();
        for (int i = 0; i < Array.getLength(array); i++) {
            to.add(plain(Array.get(array, i), depth + 1));
        }
        return to;
    }

    /** A map whose keys are beans (queues, as a rule) becomes a list of {"key", "value"}. */
    private static Object plainMap(Map<?, ?> map, int depth) {
        Map<String, Object> named = new LinkedHashMap<>();
        List<Object> pairs = new ArrayList<>();
        map.forEach((key, value) -> {
            Object name = plain(key, depth + 1);
            Object content = plain(value, depth + 1);
            if (name instanceof Map) {
                pairs.add(Map.of("key", name, "value", content));
            } else {
                named.put(String.valueOf(name), content);
            }
        });
        return pairs.isEmpty() ? named : pairs;
    }

    private static Map<String, Object> plainBean(Object bean, int depth) {
        Map<String, Object> to = new TreeMap<>();
        for (Method getter : bean.getClass().getMethods()) {
            String name = propertyName(getter);
            if (name != null) {
                try {
                    getter.setAccessible(true);
                    to.put(name, plain(getter.invoke(bean), depth + 1));
                } catch (ReflectiveOperationException | RuntimeException unreadable) {
                    // a getter that only computes something for the client's own use
                }
            }
        }
        return to;
    }

    private static String propertyName(Method method) {
        boolean ours = method.getDeclaringClass().getName().startsWith("org.apache.rocketmq.");
        if (!ours || method.getParameterCount() > 0 || Modifier.isStatic(method.getModifiers())) {
            return null;
        }
        String name = method.getName();
        String rest = name.startsWith("get") ? name.substring(3) : name.startsWith("is") ? name.substring(2) : "";
        return rest.isEmpty() ? null : Character.toLowerCase(rest.charAt(0)) + rest.substring(1);
    }

    static Map<String, Object> error(Throwable error) {
        Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
        Map<String, Object> to = new LinkedHashMap<>();
        to.put("type", cause.getClass().getSimpleName());
        to.put("message", messages(cause));
        to.put("code", responseCode(cause));
        return to;
    }

    /** What went wrong, and what caused it: clients hide the answer of a broker behind texts of their own. */
    private static String messages(Throwable error) {
        StringBuilder text = new StringBuilder(String.valueOf(error.getMessage()));
        for (Throwable one = error.getCause(); one != null; one = one.getCause()) {
            text.append("\ncaused by ").append(one.getMessage());
        }
        return text.toString();
    }

    /** The response code of the error or of what caused it; null where there is none. */
    private static Object responseCode(Throwable error) {
        for (Throwable one = error; one != null; one = one.getCause()) {
            try {
                return one.getClass().getMethod("getResponseCode").invoke(one);
            } catch (ReflectiveOperationException none) {
                // not an exception that carries a code
            }
        }
        return null;
    }
}
