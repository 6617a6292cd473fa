import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs many of Kafka's command-line tools in one JVM, side by side, each as if it had a process of its own: its own
 * standard streams, its own exit code, its own shutdown hooks and its own copy of the tools' classes (they keep counters
 * in static fields).
 *
 * A request is a line of JSON: {"id", "run": class, "args", "input"} or {"id", "stop": true}, which is SIGTERM.
 * Answers are lines {"id", "stdout" | "stderr": text} as it is printed, and at the end {"id", "code"}.
 *
 * Started as `java --add-opens=java.base/java.lang=ALL-UNNAMED -cp <Kafka's jars without kafka-tools> ToolHost.java
 * <kafka-tools jar>`.
 */
public final class ToolHost {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Threads that a tool starts print into its streams. */
    private static final InheritableThreadLocal<Command> CURRENT = new InheritableThreadLocal<>();
    private static final Map<Long, Command> COMMANDS = new ConcurrentHashMap<>();
    /** The JVM's own list. */
    private static final Map<Thread, Thread> JVM_HOOKS = jvmHooks();
    private static final PrintStream ANSWERS =
        new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        URL tools = Path.of(args[0]).toUri().toURL();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(new Printed("stdout"), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new Printed("stderr"), true, StandardCharsets.UTF_8));
        System.setIn(new Input());
        Exit.setExitProcedure((code, message) -> CURRENT.get().exit(code, message));
        Exit.setHaltProcedure((code, message) -> CURRENT.get().exit(code, message));
        Exit.setShutdownHookAdder((name, hook) -> CURRENT.get().hooks.add(hook));
        for (String line; (line = requests.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            long id = request.get("id").asLong();
            if (request.has("run")) start(id, tools, request);
            else stop(COMMANDS.get(id));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void start(long id, URL tools, JsonNode request) {
        Command command = new Command(id, request.get("input").asText());
        COMMANDS.put(id, command);
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        String name = request.get("run").asText();
        new Thread(command.threads, () -> command.run(tools, name, args.toArray(String[]::new)), "main").start();
    }

    @SuppressWarnings("unchecked")
    private static Map<Thread, Thread> jvmHooks() {
        try {
            Field hooks = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
            hooks.setAccessible(true);
            return (Map<Thread, Thread>) hooks.get(null);
        } catch (ReflectiveOperationException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    /** SIGTERM. Null: it has just ended. */
    private static void stop(Command command) {
        if (command != null) new Thread(() -> command.end(143)).start();
    }

    private static synchronized void answer(long id, String key, Object value) {
        ObjectNode answer = JSON.createObjectNode().put("id", id);
        answer.putPOJO(key, value);
        ANSWERS.println(answer);
        ANSWERS.flush();
    }

    /** Thrown where a process would have ended. */
    private static final class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    private static final class Command {
        final long id;
        final InputStream input;
        final ThreadGroup threads = new ThreadGroup("tool");
        final List<Runnable> hooks = new CopyOnWriteArrayList<>();
        /** A tool that catches everything catches {@link Exited} too; what it does afterwards never happened. */
        final Set<Thread> exited = ConcurrentHashMap.newKeySet();
        private boolean ended = false;

        Command(long id, String input) {
            this.id = id;
            this.input = new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8));
        }

        void run(URL tools, String name, String[] args) {
            CURRENT.set(this);
            try (URLClassLoader loader = new URLClassLoader(new URL[] {tools})) {
                Thread.currentThread().setContextClassLoader(loader);
                Class.forName(name, true, loader).getMethod("main", String[].class).invoke(null, (Object) args);
                awaitThreads();
                end(0);
            } catch (InvocationTargetException thrown) {
                if (thrown.getCause() instanceof Exited || exited.contains(Thread.currentThread())) return;
                System.err.print("Exception in thread \"main\" ");
                thrown.getCause().printStackTrace();
                end(1);
            } catch (ReflectiveOperationException | java.io.IOException wrong) {
                System.err.println(wrong);
                end(127);
            }
        }

        /** As a JVM does when `main` returns: it goes on while there are threads that are no daemons. */
        private void awaitThreads() {
            Thread[] alive = new Thread[threads.activeCount() + 8];
            int count = threads.enumerate(alive);
            for (int i = 0; i < count; i++) {
                if (alive[i] == Thread.currentThread() || alive[i].isDaemon()) continue;
                try {
                    alive[i].join(30_000);
                } catch (InterruptedException stopped) {
                    return;
                }
            }
        }

        void exit(int code, String message) {
            if (message != null) System.err.println(message);
            exited.add(Thread.currentThread());
            end(code);
            throw new Exited();
        }

        /** The end of the process: its shutdown hooks run, side by side, and then nothing is left of it. */
        void end(int code) {
            synchronized (this) {
                if (ended) return;
                ended = true;
            }
            List<Thread> running = new ArrayList<>(jvmHooks());
            for (Runnable hook : hooks) running.add(new Thread(() -> {
                CURRENT.set(this);
                hook.run();
            }));
            running.forEach(Thread::start);
            try {
                for (Thread hook : running) hook.join(20_000);
            } catch (InterruptedException goOn) {
                // What is left of the hooks is not waited for.
            }
            COMMANDS.remove(id);
            answer(id, "code", code);
            threads.interrupt();
        }

        /** Those that the tool gave to the JVM itself, which are taken from it. */
        private List<Thread> jvmHooks() {
            List<Thread> own = new ArrayList<>();
            for (Thread hook : List.copyOf(JVM_HOOKS.keySet())) {
                if (hook.getThreadGroup() == threads && Runtime.getRuntime().removeShutdownHook(hook)) own.add(hook);
            }
            return own;
        }
    }

    private static final class Printed extends OutputStream {
        private final String key;

        Printed(String key) {
            this.key = key;
        }

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            Command command = CURRENT.get();
            if (command == null || command.exited.contains(Thread.currentThread())) return;
            // Bytes in Latin-1: what is printed may end within a character.
            answer(command.id, key, new String(bytes, from, length, StandardCharsets.ISO_8859_1));
        }
    }

    private static final class Input extends InputStream {
        @Override
        public int read() throws java.io.IOException {
            return CURRENT.get().input.read();
        }

        @Override
        public int read(byte[] bytes, int from, int length) {
            try {
                return CURRENT.get().input.read(bytes, from, length);
            } catch (java.io.IOException never) {
                throw new java.io.UncheckedIOException(never);
            }
        }
    }
}
