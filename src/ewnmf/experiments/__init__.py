"""The paper's experiments: what is run (`plan`), how (`runner`), and where the results are (`store`).

``ewnmf reproduce`` is the command for it.
"""
