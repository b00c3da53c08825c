import javax.swing.JFrame;
import javax.swing.JTextArea;
import javax.swing.SwingUtilities;

/** A text to type into, in which nothing moves by itself. */
public final class Text {
    public static void main(String[] words) {
        SwingUtilities.invokeLater(() -> {
            JFrame frame = new JFrame("text");
            JTextArea text = new JTextArea(12, 40);
            text.getCaret().setBlinkRate(0);
            frame.setContentPane(text);
            frame.pack();
            frame.setVisible(true);
            text.requestFocusInWindow();
        });
    }
}
