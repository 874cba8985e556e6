"""What is known of the cluster, asked through the admin client when somebody looks."""
