"""Every JSON body, grouped by what it is about, and the codec that reads and writes them."""

from sprocketmq.protocol.bodies.codec import decode, encode, encode_pretty, encode_standard, from_tree, to_tree

__all__ = ["decode", "encode", "encode_pretty", "encode_standard", "from_tree", "to_tree"]
