// The supervisor decides when a worker stops, but a terminal or a service manager signals all processes.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

const { runWorker } = await import('./run-worker.ts')
await runWorker()
