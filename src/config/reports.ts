import { z } from 'zod'
import { listen } from './http.ts'
import { optional, type Setting, setting } from './setting.ts'
import { flag, text } from './values.ts'

export const reportSettings = {
  logLevel: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error']),
    'LOG_LEVEL',
    'info',
    'trace, debug, info, warn or error. SIGHUP reads it again from the settings file',
  ),
  logFormat: setting(
    z.enum(['json', 'text']),
    'LOG_FORMAT',
    'json',
    'json: one object per line; text: for humans (default of npm run dev)',
  ),
  accessLog: setting(flag, 'ACCESS_LOG', 'false', 'true: a log line for each request'),
  replicaName: optional(
    text,
    'REPLICA_NAME',
    'name of this server in logs and for others that share its database: unique (default: the host name)',
  ),
  metrics: setting(
    z.enum(['token', 'open', 'off']),
    'METRICS',
    'token',
    'who may read /metrics and sys/metrics: token: tokens with read on sys/metrics; open: everyone; off: nobody',
  ),
  metricsListen: optional(
    listen,
    'METRICS_LISTEN',
    'host:port of an HTTP listener for /metrics and /health/* only, which needs no token and works while sealed',
  ),
} satisfies Record<string, Setting>
