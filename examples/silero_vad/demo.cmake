tq_add_demo(silero_vad COMMAND silero_vad)
