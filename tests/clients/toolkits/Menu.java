import java.awt.Toolkit;
import java.awt.event.KeyAdapter;
import java.awt.event.KeyEvent;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JOptionPane;
import javax.swing.JPopupMenu;

/** A Swing program whose key handler opens a menu (m) or a modal dialog (a), and sleeps before that. */
public class Menu {
    public static void main(String[] arguments) {
        JFrame frame = new JFrame("Menu");
        JLabel label = new JLabel("a: dialog, m: menu");
        JPopupMenu menu = new JPopupMenu();
        menu.setLightWeightPopupEnabled(false);
        menu.add("One");
        menu.add("Two");
        frame.add(label);
        frame.setSize(300, 200);
        frame.addKeyListener(new KeyAdapter() {
            @Override
            public void keyPressed(KeyEvent event) {
                char key = event.getKeyChar();
                if (key != 'a' && key != 'm') {
                    return;
                }
                try {
                    Thread.sleep(40);
                } catch (InterruptedException ignored) {
                    return;
                }
                if (key == 'm') {
                    menu.show(label, 150, 20);
                    Toolkit.getDefaultToolkit().sync();
                } else {
                    JOptionPane.showMessageDialog(frame, "Well?", "Question", JOptionPane.PLAIN_MESSAGE);
                }
            }
        });
        frame.setVisible(true);
        System.out.println("ready");
    }
}
