"""A text to type into and a button, in Qt 6."""

import sys

from PyQt6.QtWidgets import QApplication, QPushButton, QTextEdit, QVBoxLayout, QWidget

application = QApplication(sys.argv)
window = QWidget()
column = QVBoxLayout(window)
column.addWidget(QPushButton("Press"))
column.addWidget(QTextEdit())
window.setGeometry(0, 0, 500, 400)
window.show()
application.exec()
