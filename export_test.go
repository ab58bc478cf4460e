package parley

// Crash stops an App as a kill would: what is being sent is cut off, nothing is
// settled, and the database is let go of.
func (a *App) Crash() {
	a.webhooks.stop()
	a.webhooks.tasks.Wait()
	a.keyring.close()
	a.store.Close()
}
