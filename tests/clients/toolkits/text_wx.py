"""A text to type into and a button, in wxWidgets."""

import wx

app = wx.App()
frame = wx.Frame(None, title="text", size=(500, 400), pos=(0, 0))
panel, column = wx.Panel(frame), wx.BoxSizer(wx.VERTICAL)
text = wx.TextCtrl(panel, style=wx.TE_MULTILINE)
column.Add(wx.Button(panel, label="Press"))
column.Add(text, 1, wx.EXPAND)
panel.SetSizer(column)
frame.Show()
text.SetFocus()
app.MainLoop()
