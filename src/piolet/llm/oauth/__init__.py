"""Logins: getting a token with the consent of a user in a browser, and renewing it. Vendors are configuration."""
