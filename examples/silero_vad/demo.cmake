tq_add_demo(silero_vad silero_vad)
