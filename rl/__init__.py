"""Released generations on their way into training: verl trains, vLLM serves.

Empty so far: the dataset, agent loop, reward, sampler and launcher come in here.

envolve room: rl
"""
