"""Keys and logins: where they come from, the file that holds them, who may read them."""
