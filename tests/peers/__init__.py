"""Real RocketMQ peers for tests: Apache's servers, the Java and Go clients, mqadmin; see README.md beside this file."""
