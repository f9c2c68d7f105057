"""Methods with their preprocessing, as scikit-learn estimators: fitted and asked in the process that they are in.

A method taken bare expects rows that were preprocessed as it declares. A pipeline does that, as a task does it for a
command: what preprocessing learns is learned of the training rows alone and applied to all rows that come later. So it
gives the numbers of the command, to the method's declared tolerance where threads or the order of rows differ.
"""
