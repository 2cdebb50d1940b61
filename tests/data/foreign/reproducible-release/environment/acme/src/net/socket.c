int socket_open(const char *host, int port);
