"""In which calling context, in which layer, did the latency appear? No source needed.

The method is IntroPerf's (Kim et al., SIGMETRICS 2014), sections 3 and 4, over kernel events with stacks.
"""
