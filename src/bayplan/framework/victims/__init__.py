"""Making room by eviction: the engine under every preemption plugin, and the class that such plugins inherit."""
