package peer;

import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Setters and methods by name, so that one source serves clients whose classes moved between versions. */
final class Beans {
    private Beans() {}

    static void set(Object bean, String property, Object value) {
        String setter = "set" + Character.toUpperCase(property.charAt(0)) + property.substring(1);
        List<Method> found = methods(bean, setter, Collections.singletonList(value), null);
        try {
            Method method = found.get(0);
            method.invoke(bean, convert(value, method.getGenericParameterTypes()[0]));
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(property, error);
        }
    }

    /** {"method": name, "args": [...], "types": [simple names of the parameters, where overloads are alike]}. */
    static Object call(Object target, JSONObject command) throws Throwable {
        JSONArray given = command.getJSONArray("args");
        JSONArray types = command.getJSONArray("types");
        Method method = methods(target, command.getString("method"), given, types).get(0);
        Type[] wanted = method.getGenericParameterTypes();
        Object[] arguments = new Object[given.size()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = convert(given.get(i), wanted[i]);
        }
        return method.invoke(target, arguments);
    }

    private static List<Method> methods(Object target, String name, List<?> given, List<?> types) {
        List<Method> found = Arrays.stream(target.getClass().getMethods())
                .filter(method -> method.getName().equals(name) && method.getParameterCount() == given.size())
                .filter(method -> types == null || simpleNames(method).equals(types))
                .filter(method -> accepts(method.getParameterTypes(), given))
                .sorted((one, other) -> Integer.compare(strings(other), strings(one)))
                .collect(Collectors.toList());
        if (found.isEmpty()) {
            throw new IllegalArgumentException(target.getClass().getName() + " has no " + name + given);
        }
        found.get(0).setAccessible(true);
        return found;
    }

    private static List<String> simpleNames(Method method) {
        return Arrays.stream(method.getParameterTypes()).map(Class::getSimpleName).collect(Collectors.toList());
    }

    private static int strings(Method method) {
        return (int) Arrays.stream(method.getParameterTypes()).filter(type -> type == String.class).count();
    }

    private static boolean accepts(Class<?>[] wanted, List<?> given) {
        for (int i = 0; i < wanted.length; i++) {
            Object value = given.get(i);
            boolean number = wanted[i].isPrimitive() && wanted[i] != boolean.class
                    || Number.class.isAssignableFrom(wanted[i]);
            boolean flag = wanted[i] == boolean.class || wanted[i] == Boolean.class;
            if (value instanceof Number != number && value != null || value instanceof Boolean != flag && value != null
                    || value == null && wanted[i].isPrimitive()
                    || value instanceof JSONObject && wanted[i] == String.class) {
                return false;
            }
        }
        return true;
    }

    /** A JSON value as the parameter's type; the name of a class stands for an instance of it. */
    private static Object convert(Object value, Type type) throws ReflectiveOperationException {
        if (type instanceof Class && ((Class<?>) type).isInterface() && value instanceof String) {
            return Class.forName((String) value).getDeclaredConstructor().newInstance();
        }
        return value == null ? null : JSON.parseObject(JSON.toJSONString(value), type);
    }

    /** The queues this consumer holds after its last rebalance. */
    static Object assignedQueues(Object consumer) throws ReflectiveOperationException {
        Object inner = field(consumer, consumer.getClass().getSimpleName().contains("LitePull")
                ? "defaultLitePullConsumerImpl" : "defaultMQPushConsumerImpl");
        Object rebalance = field(inner, "rebalanceImpl");
        return List.copyOf(((Map<?, ?>) field(rebalance, "processQueueTable")).keySet());
    }

    static Object field(Object owner, String name) throws ReflectiveOperationException {
        for (Class<?> one = owner.getClass(); one != null; one = one.getSuperclass()) {
            for (Field field : one.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(owner);
                }
            }
        }
        throw new NoSuchFieldException(name);
    }
}
