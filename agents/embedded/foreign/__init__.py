"""Making a task longer that the library does not know: steps of the library put in front of it or behind it, tied in.

The task's own work stays as it is: its tests and its solution go on running unchanged, beside the new ones. What ties a
new step in is one of four things, the first that this task allows:

* `spliced`: the step beside it is one of the library's from an earlier generation; the library's own link joins them;
* `sealed` (in front): an input file of the task comes sealed, and the step's figure is the key;
* `figure` (behind): what the step works on is chosen by a figure in the task's own output;
* `countersigned`: a signature over the task's output and the step's figure is asked for and checked.
"""
