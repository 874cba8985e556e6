package peer;

import java.util.concurrent.locks.LockSupport;

/**
 * Shutdowns without waiting: the event thread of a 5.x client looks every 3 s whether it is to end, and its shutdown
 * waits for that. While this is open such threads are woken, which they take as a reason to look.
 */
final class Hurry implements AutoCloseable {
    private static final String EVENT_THREAD = "NettyEventExecutor";
    private static final long PAUSE_NANOS = 20_000_000;
    private volatile boolean open = true;

    Hurry() {
        Thread waker = new Thread(this::wake, "hurry");
        waker.setDaemon(true);
        waker.start();
    }

    private void wake() {
        ThreadGroup all = Thread.currentThread().getThreadGroup();
        while (open) {
            Thread[] threads = new Thread[all.activeCount() + 16];
            int count = all.enumerate(threads);
            for (int i = 0; i < count; i++) {
                if (threads[i].getName().equals(EVENT_THREAD)) {
                    threads[i].interrupt();
                }
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    @Override
    public void close() {
        open = false;
    }
}
