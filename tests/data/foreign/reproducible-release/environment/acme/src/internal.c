int secret_backdoor(void);
