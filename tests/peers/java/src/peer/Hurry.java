package peer;

import java.util.concurrent.locks.LockSupport;

/**
 * Shutdowns without waiting: the event thread of a 5.x client looks every 3 s whether it is to end, and its shutdown
 * waits for that. While whoever opened this waits so, such threads are woken, which they take as a reason to look.
 */
final class Hurry implements AutoCloseable {
    private static final String EVENT_THREAD = "NettyEventExecutor";
    private static final long PAUSE_NANOS = 20_000_000;
    private final Thread opener = Thread.currentThread();
    private volatile boolean open = true;

    Hurry() {
        Thread waker = new Thread(this::wake, "hurry");
        waker.setDaemon(true);
        waker.start();
    }

    private void wake() {
        while (open) {
            if (isShuttingDown()) {
                wakeEventThreads();
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean isShuttingDown() {
        return isIn(opener, ".ServiceThread", "shutdown");
    }

    /** Those that wait for an event: another may be talking to a server, and must not be disturbed. */
    private static void wakeEventThreads() {
        ThreadGroup all = Thread.currentThread().getThreadGroup();
        Thread[] threads = new Thread[all.activeCount() + 16];
        int count = all.enumerate(threads);
        for (int i = 0; i < count; i++) {
            if (threads[i].getName().equals(EVENT_THREAD) && isIn(threads[i], ".LinkedBlockingQueue", "poll")) {
                threads[i].interrupt();
            }
        }
    }

    private static boolean isIn(Thread thread, String type, String method) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals(method) && frame.getClassName().endsWith(type)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void close() {
        open = false;
    }
}
