"""What each key action is called for people: for the list of keys and the full header."""

from __future__ import annotations

from collections.abc import Iterator

from piolet.tui.keymap import Keymap

_TABLE = """
Program
app.interrupt            stop the answer, close what is open; twice on an empty editor: the session tree
app.clear                clear the text; without text stop the answer; twice: leave
app.exit                 leave, when the editor is empty
app.suspend              put the program to sleep
app.tools.expand         fold or unfold everything
app.model.select         choose a model
app.model.cycleForward   next model
app.model.cycleBackward  previous model
app.models.save          make the chosen model or scope the default
app.thinking.cycle       next thinking level
app.thinking.save        make the chosen thinking level the default
app.thinking.toggle      show or hide thinking
app.message.followUp     send after the present work
app.message.dequeue      put queued messages back into the editor
app.message.copy         copy the selection, else the last answer
app.editor.external      write in an external editor
app.clipboard.pasteImage paste from the clipboard
app.session.new          new session
app.session.tree         session tree
app.session.fork         fork the session at a message
app.session.resume       open another session
Transcript
tui.altScreen.pageUp         a page up
tui.altScreen.pageDown       a page down
tui.altScreen.halfPageUp     half a page up
tui.altScreen.halfPageDown   half a page down
tui.altScreen.lineUp         a line up
tui.altScreen.lineDown       a line down
tui.altScreen.previousPrompt previous prompt
tui.altScreen.nextPrompt     next prompt
tui.altScreen.top            the beginning
tui.altScreen.bottom         the end
tui.altScreen.search         search the transcript
tui.altScreen.searchNext     next place found
tui.altScreen.searchPrevious previous place found
tui.altScreen.searchClose    end the search
Editor
tui.input.submit                send
tui.input.newLine               new line
tui.input.tab                   complete
tui.input.copy                  copy
tui.editor.cursorUp             up; at the top the prompt before
tui.editor.cursorDown           down; at the bottom the next prompt
tui.editor.cursorLeft           left
tui.editor.cursorRight          right
tui.editor.cursorWordLeft       a word to the left
tui.editor.cursorWordRight      a word to the right
tui.editor.cursorLineStart      start of the line
tui.editor.cursorLineEnd        end of the line
tui.editor.jumpForward          to the next place of a character
tui.editor.jumpBackward         to the previous place of a character
tui.editor.pageUp               several lines up
tui.editor.pageDown             several lines down
tui.editor.historyPrevious      the prompt before
tui.editor.historyNext          the next prompt
tui.editor.deleteCharBackward   delete the character before the cursor
tui.editor.deleteCharForward    delete the character at the cursor
tui.editor.deleteWordBackward   cut the word before the cursor
tui.editor.deleteWordForward    cut the word at the cursor
tui.editor.deleteToLineStart    cut to the start of the line
tui.editor.deleteToLineEnd      cut to the end of the line
tui.editor.yank                 paste what was cut
tui.editor.yankPop              the cut before it instead
tui.editor.undo                 undo
Lists
tui.select.up       up
tui.select.down     down
tui.select.pageUp   a page up
tui.select.pageDown a page down
tui.select.confirm  choose
tui.select.cancel   close
Session list
app.session.toggleSort           other order
app.session.toggleNamedFilter    only named sessions
app.session.togglePath           show paths
app.session.rename               rename
app.session.delete               delete
app.session.deleteNoninvasive    delete, when nothing is typed
Session tree
app.tree.foldOrUp                fold the branch, or go to its start
app.tree.unfoldOrDown            unfold the branch, or go to its end
app.tree.editLabel               label the entry
app.tree.toggleLabelTimestamp    show when labels were set
app.tree.filter.default          messages and tools
app.tree.filter.noTools          without tools
app.tree.filter.userOnly         prompts only
app.tree.filter.labeledOnly      labelled entries only
app.tree.filter.all              everything
app.tree.filter.cycleForward     next filter
app.tree.filter.cycleBackward    previous filter
Scoped models
app.models.enableAll      all
app.models.clearAll       none
app.models.toggleProvider all of the provider
app.models.reorderUp      move up
app.models.reorderDown    move down
"""


def hotkeys(keymap: Keymap) -> Iterator[tuple[str, str, str]]:
    """Give (group, keys, what they do) for each action that has keys."""
    group = ""
    for line in _TABLE.strip().split("\n"):
        action, _, text = line.partition(" ")
        if "." not in action:
            group = line
        elif keys := keymap.keys(action):
            yield group, " / ".join(keys), text.strip()
