import java.awt.AWTEvent;
import java.awt.Color;
import java.awt.Dimension;
import java.awt.EventQueue;
import java.awt.Graphics;
import java.awt.MouseInfo;
import java.awt.Toolkit;
import java.awt.event.KeyAdapter;
import java.awt.event.KeyEvent;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import javax.swing.JComboBox;
import javax.swing.JDialog;
import javax.swing.JFrame;
import javax.swing.JMenu;
import javax.swing.JMenuBar;
import javax.swing.JMenuItem;
import javax.swing.JOptionPane;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

/**
 * Micro-benchmarks of LiLa (Jovic & Hauswirth 2008, Table 1) in Swing, in which LiLa's were: handlers that
 * take a known time, and write down how long each handling took, and how long Swing dispatched the events
 * that it was part of: LiLa's own measure.
 *
 * <p>java Microbench BENCHMARK WORK TRUTH MS…
 */
public final class Microbench {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private final String benchmark;
    private final String work;
    private final String truth;
    private final ArrayDeque<Integer> times = new ArrayDeque<>();
    private final List<String> lines = new ArrayList<>();
    private final List<Panel> panels = new ArrayList<>();
    private int drawn;
    private long slept;
    private long waited;
    private long roundTrips;
    /** The thread that reads what the server sends: it wakes for each reply, beside the one that asked. */
    private long reader;
    private long beganReader;
    /** The handling that Swing still dispatches. */
    private String open;
    /** When the handling began, by the two clocks. */
    private long began;
    private long beganComputed;
    private int asked;
    private boolean paints;
    /** The height that was painted last, once the program is ready. */
    private int painted;

    /** Tells when Swing began to dispatch and when it had nothing more to dispatch. */
    private final class Timed extends EventQueue {
        private long busySince;

        @Override
        protected void dispatchEvent(AWTEvent event) {
            if (busySince == 0) {
                busySince = System.nanoTime();
            }
            super.dispatchEvent(event);
            if (paints) {
                paints = false;
                ends("paint");
            }
            if (peekEvent() == null) {
                if (open != null) {
                    lines.add(String.format("%s,\"toolkit_from_ns\":%d,\"toolkit_to_ns\":%d}",
                        open, busySince, System.nanoTime()));
                    open = null;
                }
                busySince = 0;
            }
        }
    }

    private final class Panel extends JPanel {
        @Override
        protected void paintComponent(Graphics g) {
            // Once for each size.
            if (painted != 0 && painted != getHeight() && benchmark.equals("painting")) {
                painted = getHeight();
                paints = begins();
            }
            g.setColor(new Color(0x3060a0));
            g.fillRect(0, 0, getWidth(), getHeight());
            g.setColor(new Color(0xe0c040));
            g.fillRect(10, 10, 50 + drawn % 100, 40);
        }
    }

    private Microbench(String[] words) {
        benchmark = words[0];
        work = words[1];
        truth = words[2];
        for (int n = 3; n < words.length; n++) {
            times.add(Integer.valueOf(words[n]));
        }
    }

    public static void main(String[] words) {
        SwingUtilities.invokeLater(() -> new Microbench(words).start());
    }

    private void spend(int ms) throws InterruptedException {
        long begin = System.nanoTime();
        long computed = THREADS.getCurrentThreadCpuTime();
        long nanos = ms * 1_000_000L;
        switch (work) {
            case "sleep":
                Thread.sleep(ms);
                slept += System.nanoTime() - begin;
                break;
            case "compute":
                while (THREADS.getCurrentThreadCpuTime() - computed < nanos) {
                    Thread.onSpinWait();
                }
                break;
            default:
                while (System.nanoTime() - begin < nanos) {
                    if (work.equals("read-back")) {
                        Graphics g = panels.get(0).getGraphics();
                        for (int n = 0; n < 100; n++) {
                            g.setColor(new Color(40, 80, n % 2 * 100, 128));
                            g.fillRect(0, 0, 400, 300);
                        }
                        g.dispose();
                        Toolkit.getDefaultToolkit().sync();
                    } else {
                        MouseInfo.getPointerInfo();
                    }
                    roundTrips++;
                }
                long took = System.nanoTime() - begin;
                waited += Math.max(0, took - (THREADS.getCurrentThreadCpuTime() - computed));
        }
    }

    /** A handler: it spends the next time and then shows that it did. */
    private void works(String action, JDialog closes) {
        if (!begins()) {
            return;
        }
        if (closes != null) {
            closes.dispose();
        }
        drawn++;
        for (Panel panel : panels) {
            panel.paintImmediately(0, 0, panel.getWidth(), panel.getHeight());
        }
        ends(action);
    }

    /** Spends the next time, if there is one. */
    private boolean begins() {
        began = System.nanoTime();
        beganComputed = THREADS.getCurrentThreadCpuTime();
        Integer ms = times.poll();
        if (ms == null) {
            return false;
        }
        asked = ms;
        slept = waited = roundTrips = 0;
        beganReader = THREADS.getThreadCpuTime(reader);
        try {
            spend(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        return true;
    }

    private void ends(String action) {
        // Else what was drawn stays in the client's buffer until a timer sends it.
        Toolkit.getDefaultToolkit().sync();
        long end = System.nanoTime();
        open = String.format(
            "{\"benchmark\":\"%s\",\"action\":\"%s\",\"asked_ms\":%d,\"begin_ns\":%d,\"end_ns\":%d,"
                + "\"computed_ns\":%d,\"slept_ns\":%d,\"waited_ns\":%d,\"round_trips\":%d,"
                + "\"switches\":0,\"queued_ns\":0,\"beside_ns\":%d",
            benchmark, action, asked, began, end, THREADS.getCurrentThreadCpuTime() - beganComputed,
            slept, waited, roundTrips, THREADS.getThreadCpuTime(reader) - beganReader);
        if (times.isEmpty()) {
            later(200, this::finish);
        } else if (benchmark.equals("timer")) {
            later(150, () -> works("timer", null));
        }
    }

    private static void later(int ms, Runnable what) {
        Timer timer = new Timer(ms, event -> what.run());
        timer.setRepeats(false);
        timer.start();
    }

    private void finish() {
        try (PrintWriter file = new PrintWriter(truth)) {
            lines.forEach(file::println);
        } catch (java.io.IOException error) {
            throw new IllegalStateException(error);
        }
        System.exit(0);
    }

    private Panel panel(int width, int height, Runnable pressed) {
        Panel panel = new Panel();
        panel.setPreferredSize(new Dimension(width, height));
        if (pressed != null) {
            panel.addMouseListener(new MouseAdapter() {
                @Override
                public void mousePressed(MouseEvent event) {
                    pressed.run();
                }
            });
        }
        return panel;
    }

    private JFrame frame(int x, Panel panel) {
        JFrame frame = new JFrame("microbench");
        frame.setContentPane(panel);
        frame.setLocation(x, 0);
        panels.add(panel);
        return frame;
    }

    private void opens(JFrame owner) {
        JDialog dialog = new JDialog(owner, "dialog", benchmark.equals("modal-dialog"));
        dialog.setContentPane(panel(300, 200, () -> works("close", dialog)));
        dialog.pack();
        dialog.setLocation(450, 0);
        // A modal one has an event loop of its own in here, until it is closed.
        dialog.setVisible(true);
    }

    /** Swing's own dialog, in which keys go from button to button; who asked works on the answer. */
    private void asks(JFrame owner) {
        JOptionPane pane = new JOptionPane("Well?", JOptionPane.QUESTION_MESSAGE, JOptionPane.OK_CANCEL_OPTION);
        JDialog dialog = pane.createDialog(owner, "dialog");
        dialog.setLocation(450, 0);
        dialog.setVisible(true);
        dialog.dispose();
        works("close", null);
    }

    private void start() {
        Toolkit.getDefaultToolkit().getSystemEventQueue().push(new Timed());
        JFrame[] first = new JFrame[1];
        Runnable pressed = switch (benchmark) {
            case "button", "two-frames" -> () -> works("button", null);
            case "non-modal-dialog", "modal-dialog" -> () -> opens(first[0]);
            case "built-in-dialog" -> () -> asks(first[0]);
            default -> null;
        };
        Panel panel = panel(400, 300, pressed);
        first[0] = frame(0, panel);
        if (benchmark.equals("menu")) {
            JMenuBar bar = new JMenuBar();
            JMenu menu = new JMenu("Menu");
            for (String name : List.of("one", "two", "three", "four", "five")) {
                JMenuItem item = new JMenuItem(name);
                item.addActionListener(event -> works("item", null));
                menu.add(item);
            }
            bar.add(menu);
            first[0].setJMenuBar(bar);
        }
        if (benchmark.equals("combo-box")) {
            JComboBox<String> box = new JComboBox<>(new String[] {"one", "two", "three", "four"});
            box.setBounds(150, 100, 100, 20);
            box.addActionListener(event -> works("select", null));
            panel.setLayout(null);
            panel.add(box);
        }
        first[0].pack();
        first[0].setVisible(true);
        if (benchmark.equals("two-frames")) {
            JFrame second = frame(450, panel(300, 200, pressed));
            second.pack();
            second.setVisible(true);
        }
        if (benchmark.equals("motion")) {
            panel.addMouseMotionListener(new MouseAdapter() {
                @Override
                public void mouseMoved(MouseEvent event) {
                    works("motion", null);
                }
            });
        }
        if (benchmark.equals("keyboard")) {
            panel.setFocusable(true);
            panel.addKeyListener(new KeyAdapter() {
                @Override
                public void keyPressed(KeyEvent event) {
                    works("key", null);
                }
            });
            panel.requestFocusInWindow();
        }
        later(500, () -> {
            painted = panel.getHeight();
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                reader = thread.getName().equals("AWT-XAWT") ? thread.getId() : reader;
            }
            System.out.println("ready 0x0");
            if (benchmark.equals("timer")) {
                later(150, () -> works("timer", null));
            }
        });
    }
}
