// Threads, garbage, a null pointer that the JVM turns into an exception by a signal, deep recursion, an exit status.
public class Work {
    static int depth(int n) {
        return 1 + depth(n + 1);
    }

    public static void main(String[] words) throws Exception {
        Thread[] threads = new Thread[4];
        long[] sums = new long[4];
        for (int t = 0; t < 4; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 200000; i++) {
                    sums[own] += ("x" + i).length() + new byte[64].length;
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        int nulls = 0;
        String nothing = words.length > 5 ? "" : null;
        for (int i = 0; i < 20000; i++) {
            try {
                nulls += nothing.length();
            } catch (NullPointerException e) {
                nulls++;
            }
        }
        try {
            depth(0);
        } catch (StackOverflowError e) {
            System.out.println("overflow");
        }
        System.out.println(sums[0] + " " + sums[3] + " " + nulls);
        System.exit(21);
    }
}
