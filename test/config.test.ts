import { expect, test } from 'vitest'
import { readConfig, SettingError } from '../src/config.ts'

const read = (settings: Record<string, string>, dev = false) => {
  const warnings: string[] = []
  const environment = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`GATEHOUSE_${name}`, value]))
  const config = readConfig(environment, { dev, warn: (text) => warnings.push(text) })
  return { config, warnings }
}

test.each<{ name: string; value: string; also?: Record<string, string> }>([
  { name: 'LISTEN', value: '8200' },
  { name: 'LISTEN', value: '127.0.0.1:65536' },
  { name: 'LISTEN', value: '0.0.0.0:0' },
  { name: 'TLS', value: 'maybe' },
  { name: 'TRUSTED_PROXIES', value: '10.0.0.0/99' },
  { name: 'TRUSTED_PROXIES', value: 'proxy.example' },
  { name: 'OUTBOUND_DENY', value: '300.1.1.1/8' },
  { name: 'TRUSTED_PROXY_HOPS', value: '-1' },
  { name: 'TRUSTED_PROXY_REQUIRED', value: 'yes' },
  { name: 'STOP_TIMEOUT', value: '30' },
  { name: 'STOP_TIMEOUT', value: '25d' },
  { name: 'DRAIN_DELAY', value: '1 s' },
  { name: 'STORAGE', value: 'file.db' },
  { name: 'STORAGE', value: 'sqlite:' },
  { name: 'BACKGROUND', value: 'true' },
  { name: 'ROOT_TOKEN', value: 'not-for-production' },
  { name: 'DEFAULT_MOUNTS', value: 'auth/jwt' },
  { name: 'DEFAULT_MOUNTS', value: 'auth/jwt=kv' },
  { name: 'DEFAULT_LEASE_TTL', value: '2h', also: { MAX_LEASE_TTL: '1h' } },
  { name: 'LOG_LEVEL', value: 'loud' },
  { name: 'LOG_FORMAT', value: 'xml' },
  { name: 'ACCESS_LOG', value: '1' },
  { name: 'MAX_REQUEST_SIZE', value: 'big' },
  { name: 'MAX_JSON_STRINGS', value: '1e3' },
  { name: 'REPORTED_VERSION', value: 'latest' },
])('GATEHOUSE_$name=$value is refused in one line that names the setting', ({ name, value, also = {} }) => {
  const refused = () => read({ [name]: value, ...also })

  expect(refused).toThrow(SettingError)
  expect(refused).toThrow(new RegExp(`^GATEHOUSE_${name}: .+$`))
})

test.each([
  { name: 'LISTEN', value: '[::1]:0', key: 'listen', is: { host: '::1', port: 0 } },
  { name: 'LISTEN', value: 'localhost:65535', key: 'listen', is: { host: 'localhost', port: 65535 } },
  { name: 'STORAGE', value: 'memory:', key: 'storage', is: { kind: 'memory' } },
  { name: 'STORAGE', value: 'sqlite:/var/a b.db', key: 'storage', is: { kind: 'sqlite', path: '/var/a b.db' } },
  { name: 'TRUSTED_PROXIES', value: '10.0.0.0/8, fd00::/8,::1', key: 'trustedProxies', is: ['10.0.0.0/8', 'fd00::/8', '::1'] },
  { name: 'OUTBOUND_DENY', value: '', key: 'outboundDeny', is: [] },
  { name: 'STOP_TIMEOUT', value: '500ms', key: 'stopTimeoutMs', is: 500 },
  { name: 'STOP_TIMEOUT', value: '24d', key: 'stopTimeoutMs', is: 24 * 86_400_000 },
  { name: 'MAX_LEASE_TTL', value: '9999d', key: 'maxLeaseTtlMs', is: 9999 * 86_400_000 },
  { name: 'MAX_REQUEST_SIZE', value: '64KiB', key: 'maxRequestSize', is: 65_536 },
  { name: 'MAX_JSON_MEMORY', value: '0', key: 'maxJsonMemory', is: 0 },
  { name: 'DEFAULT_MOUNTS', value: '', key: 'defaultMounts', is: [] },
] as const)('GATEHOUSE_$name=$value', ({ name, value, key, is }) => {
  const { config } = read({ [name]: value })

  expect(config[key]).toEqual(is)
})

test('plain HTTP on an address others reach needs a word', () => {
  const { config } = read({ LISTEN: '0.0.0.0:8200', TLS: 'off' })

  expect(config.listen).toEqual({ host: '0.0.0.0', port: 8200 })
})

test('a development server has its own defaults, and every setting still counts', () => {
  const plain = read({}, true).config
  const set = read({ STORAGE: 'sqlite:dev.db', ROOT_TOKEN: 'mine', LOG_FORMAT: 'json' }, true).config

  expect(plain).toMatchObject({ storage: { kind: 'memory' }, rootToken: 'root', logFormat: 'text' })
  expect(set).toMatchObject({ storage: { kind: 'sqlite', path: 'dev.db' }, rootToken: 'mine', logFormat: 'json' })
})

test('unknown settings are warned of, but for names an orchestrator injects', () => {
  const { warnings } = read({ LISTENER: 'x', SERVICE_HOST: 'x', SERVICE_PORT: '1', SERVICE_PORT_HTTP: '1', PORT: 'x', PORT_8200_TCP_ADDR: 'x' })

  expect(warnings).toEqual(['unknown setting GATEHOUSE_LISTENER'])
})
