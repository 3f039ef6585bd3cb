import { spawn } from 'node:child_process'
import type { Log } from '../log/log.ts'

/**
 * Tells systemd that this process is ready, if it is a service of `Type=notify`. Node.js has no sockets for
 * datagrams between processes, so systemd's own program sends it. docs/deployment.md#systemd
 */
export function tellReady(environment: NodeJS.ProcessEnv, log: Log): void {
  if (environment['NOTIFY_SOCKET'] === undefined) return
  const failed = (reason: object) =>
    log.error({ event: 'notify_failed', ...reason }, 'systemd-notify could not say that the server is ready')
  spawn('systemd-notify', ['--ready'], { env: environment, stdio: 'ignore' })
    .on('error', (err) => failed({ err }))
    .on('exit', (code) => (code === 0 ? undefined : failed({ exit_code: code })))
    .unref()
}
