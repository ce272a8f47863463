"""Starting and watching a target, and sealing what was collected."""
