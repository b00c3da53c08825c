import java.awt.Color;
import java.awt.Dimension;
import java.awt.Graphics;
import java.awt.Toolkit;
import javax.swing.JFrame;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;
import javax.swing.Timer;

/** A program that looks for something to do every 15 ms, ignores keys, and draws once in two seconds. */
public final class Ticker extends JPanel {
    private int ticks;

    @Override
    protected void paintComponent(Graphics g) {
        super.paintComponent(g);
        g.setColor(Color.ORANGE);
        g.fillRect(10, 10, 50 + ticks % 50, 40);
    }

    private void tick() {
        if (++ticks % 133 == 0) {
            paintImmediately(0, 0, getWidth(), getHeight());
            Toolkit.getDefaultToolkit().sync();
        }
    }

    public static void main(String[] words) {
        SwingUtilities.invokeLater(() -> {
            JFrame frame = new JFrame("ticker");
            Ticker ticker = new Ticker();
            ticker.setPreferredSize(new Dimension(400, 300));
            ticker.setFocusable(true);
            frame.setContentPane(ticker);
            frame.pack();
            frame.setVisible(true);
            ticker.requestFocusInWindow();
            new Timer(15, event -> ticker.tick()).start();
            Timer ready = new Timer(500, event -> System.out.println("ready 0x0"));
            ready.setRepeats(false);
            ready.start();
        });
    }
}
