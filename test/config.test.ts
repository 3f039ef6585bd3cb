import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { cloudSettings } from '../src/config/cloud.ts'
import { readConfig } from '../src/config/config.ts'
import { SettingError } from '../src/config/setting.ts'
import { settings } from '../src/config/settings.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const names = Object.values(settings).map(({ name }) => name)

/** Settings without their `GATEHOUSE_`, as they are read by `npm start`. */
const started = (
  values: Record<string, string> = {},
  { dev = false, warn = () => {} }: { dev?: boolean; warn?: (text: string) => void } = {},
) =>
  readConfig(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`GATEHOUSE_${name}`, value])),
    { dev, warn },
  )

const refusal = (values: Record<string, string>, options?: { dev: boolean }): string => {
  try {
    started(values, options)
  } catch (error) {
    if (error instanceof SettingError) return error.message
    throw error
  }
  return 'accepted'
}

describe('.env.example', () => {
  const lines = readFileSync(new URL('../.env.example', import.meta.url), 'utf8').split('\n')
  const shown = new Map(
    lines.flatMap((line, at) => {
      const [, name, value] = /^#GATEHOUSE_([A-Z\d_]+)=(.*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, { value, about: lines[at - 1] ?? '' }] as const]
    }),
  )

  test('lists each setting of the table, in order, and no other', () => {
    expect([...shown.keys()]).toEqual(names)
  })

  test.each(Object.values(settings))(
    'shows the default and the meaning of $name',
    ({ name, fallback, about }) => {
      expect(shown.get(name)?.value).toBe(fallback ?? '')
      expect(shown.get(name)?.about).toContain(`# ${about}`)
    },
  )

  test('shows no value for a secret', () => {
    const secrets = Object.values(settings).filter(({ secret }) => secret)

    expect(secrets.map(({ name }) => shown.get(name)?.value)).toEqual(secrets.map(() => ''))
  })
})

test('the settings page lists each setting, in order, with its default and its meaning', () => {
  const page = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8')
  const [table = ''] = page.split('## Change settings')
  const rows = table.match(/^\| `GATEHOUSE_.*$/gm)

  expect(rows).toEqual(
    Object.values(settings).map(
      ({ name, fallback = '', about }) =>
        `| \`GATEHOUSE_${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about} |`,
    ),
  )
})

describe('defaults', () => {
  test('an empty environment is enough', () => {
    const config = started()

    expect(config).toMatchObject({
      dev: false,
      listen: [{ host: '127.0.0.1', port: 8200 }],
      unixSocketMode: 0o600,
      storage: { kind: 'sqlite', path: 'data/gatehouse.db' },
      sealKeyFile: 'data/seal.key',
      defaultMounts: [
        { table: 'auth', path: 'jwt', type: 'jwt' },
        { table: 'secret', path: 'cloud', type: 'cloud' },
      ],
      logFormat: 'json',
    })
    expect(config.rootToken).toBeUndefined()
  })

  test('development mode has an in-memory store, the root token root and a readable log', () => {
    expect(started({}, { dev: true })).toMatchObject({
      dev: true,
      storage: { kind: 'memory' },
      rootToken: 'root',
      logFormat: 'text',
    })
  })

  test('every setting still applies in development mode', () => {
    const config = started(
      { STORAGE: 'sqlite:/tmp/a.db', ROOT_TOKEN: 'mine', LOG_FORMAT: 'json' },
      { dev: true },
    )

    expect(config).toMatchObject({
      storage: { kind: 'sqlite', path: '/tmp/a.db' },
      rootToken: 'mine',
      logFormat: 'json',
    })
  })

  test('a config cannot be changed once it is read', () => {
    expect(Object.isFrozen(started())).toBe(true)
  })
})

describe('a wrong value is refused in one line that names the setting', () => {
  test.each([
    ['LISTEN', ''],
    ['LISTEN', '8200'],
    ['LISTEN', 'unix:'],
    ['UNIX_SOCKET_MODE', '0460'],
    ['UNIX_SOCKET_MODE', '4660'],
    ['UNIX_SOCKET_MODE', 'rw'],
    ['UNIX_SOCKET_GROUP', 'a:b'],
    ['LISTEN', '127.0.0.1:1,'],
    ['LISTEN', '127.0.0.1'],
    ['LISTEN', '127.0.0.1:65536'],
    ['LISTEN', '::1:8200'],
    ['TLS', 'on'],
    ['TRUSTED_PROXIES', 'proxy.example'],
    ['TRUSTED_PROXIES', '10.0.0.0/99'],
    ['TRUSTED_PROXY_HOPS', '-1'],
    ['TRUSTED_PROXY_REQUIRED', 'yes'],
    ['DRAIN_DELAY', '5'],
    ['STOP_TIMEOUT', '1 s'],
    ['STOP_TIMEOUT', '25d'],
    ['STORAGE', 'postgres://localhost/db'],
    ['STORAGE', 'sqlite:'],
    ['STORAGE', 'file.db'],
    ['ALLOW_NETWORK_DISK', '1'],
    ['BACKGROUND', 'true'],
    ['SEAL_KEY_FILE', ''],
    ['SEAL_KEY', ''],
    ['ROOT_TOKEN_FILE', ''],
    ['DEFAULT_MOUNTS', 'auth/jwt'],
    ['DEFAULT_MOUNTS', 'auth/jwt='],
    ['DEFAULT_MOUNTS', 'a=cloud=cloud'],
    ['DEFAULT_LEASE_TTL', '-1h'],
    ['MAX_LEASE_TTL', '1w'],
    ['DEFAULT_LEASE_TTL', '999ms'],
    ['MAX_LEASE_TTL', '0s'],
    ['STORAGE', 'sqlite::memory:'],
    ['REPLICA_NAME', ''],
    ['AUDIT', 'file'],
    ['AUDIT', '{"path":"file"}'],
    ['AUDIT', '[{"path":"file"}]'],
    ['AUDIT', '[{"path":"file/","type":"file","options":{"mode":600}}]'],
    ['AUDIT', '[{"path":"/file","type":"file"}]'],
    ['AUDIT', '[{"path":"file","type":"file","option":{}}]'],
    ['AUDIT', '[{"path":"a","type":"file"},{"path":"a/b","type":"file"}]'],
    ['AUDIT_API', '1'],
    ['AUDIT_HTTP_HOSTS', 'https://collector.example'],
    ['AUDIT_HTTP_HOSTS', 'collector.example'],
    ['AUDIT_SYNC', 'never'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_FORMAT', 'xml'],
    ['ACCESS_LOG', '1'],
    ['MAX_REQUEST_SIZE', '32MB'],
    ['MAX_JSON_STRINGS', '1e3'],
    ['MAX_IN_FLIGHT', 'many'],
    ['MAX_IN_FLIGHT', '0'],
    ['IN_FLIGHT_WAIT', '1'],
    ['LOGIN_FAILURES', 'on'],
    ['LOGIN_FAILURES', '10'],
    ['LOGIN_FAILURES', '0/1m'],
    ['LOGIN_FAILURES', '10/0s'],
    ['LOGIN_FAILURES', '10/1m/1m'],
    ['USER_LOCKOUT', 'on'],
    ['USER_LOCKOUT', '5/15m'],
    ['USER_LOCKOUT', '0/15m/15m'],
    ['USER_LOCKOUT', '5/15m/0s'],
    ['MAX_BUFFERED', '0'],
    ['MAX_CONNECTIONS', '0'],
    ['MAX_CONNECTION_SHARE', '10'],
    ['MAX_CONNECTION_SHARE', '0%'],
    ['MAX_CONNECTION_SHARE', '101%'],
    ['MAX_LOGIN_SIZE', '1MB'],
    ['HEADER_TIMEOUT', 'soon'],
    ['OUTBOUND_DENY', 'metadata.internal'],
    ['OPEN_CEREMONIES', 'rekey,unseal'],
    ['OUTBOUND_DENY', '300.1.1.1/8'],
    ['REPORTED_VERSION', 'latest'],
  ])('%s=%s', (name, value) => {
    const text = refusal({ [name]: value })

    expect(text.startsWith(`GATEHOUSE_${name}: `)).toBe(true)
    expect(text).not.toContain('\n')
  })

  test('the message does not contain the secret', () => {
    expect(refusal({ ROOT_TOKEN: 'hvs.secret' }, { dev: true })).toBe(
      'GATEHOUSE_ROOT_TOKEN: must not contain spaces or dots',
    )
  })

  test.each<[file: string, settings: Record<string, string>]>([
    ['data/seal.key', {}],
    ['data/../data/gatehouse.db', {}],
    ['/keys/old', { SEAL_PREVIOUS_KEY_FILE: '/keys/old' }],
    ['/a.db.lock', { STORAGE: 'sqlite:/a.db' }],
  ])('the root token file must not overwrite what opens the store: %s', (file, settings) => {
    expect(refusal({ ...settings, ROOT_TOKEN_FILE: file })).toBe(
      `GATEHOUSE_ROOT_TOKEN_FILE: ${file} is a database file or a seal key file`,
    )
  })

  test.each<[folder: string, settings: Record<string, string>]>([
    ['data', {}],
    ['.', {}],
    ['/keys', { SEAL_PREVIOUS_KEY_FILE: '/keys/old' }],
    ['logs/../data', { STORAGE: 'sqlite:data/sub/a.db' }],
  ])('audit devices must not write where what opens the store is: %s', (folder, settings) => {
    expect(refusal({ ...settings, AUDIT_DIRS: `logs,${folder}` })).toContain(
      `GATEHOUSE_AUDIT_DIRS: ${folder} contains a database file or a seal key file`,
    )
  })

  test('the secret of an audit device is not in the message', () => {
    const devices = '[{"path":"http","type":"http","options":{"headers":{"Authorization":"canary"}}}]'

    expect(refusal({ AUDIT: devices })).toBe('GATEHOUSE_AUDIT: 0.options.headers: is missing or invalid')
  })

  test.each([
    ['sqlite:data/gatehouse.db', '2', 'a SQLite file'],
    ['sqlite:data/gatehouse.db', 'auto', 'a SQLite file'],
    ['memory:', '3', 'memory'],
  ])('%s storage has no room for %s workers', (STORAGE, WORKERS, place) => {
    expect(refusal({ STORAGE, WORKERS })).toBe(
      `GATEHOUSE_WORKERS: several processes need PostgreSQL; ${place} belongs to one process`,
    )
  })

  test.each(['0', '-1', '1.5', 'many', '100'])('%s is no number of workers', (WORKERS) => {
    expect(refusal({ WORKERS })).toBe('GATEHOUSE_WORKERS: must be auto or a number from 1 to 99')
  })

  test('the default lifetime must not exceed the maximum', () => {
    expect(refusal({ DEFAULT_LEASE_TTL: '2h', MAX_LEASE_TTL: '1h' })).toContain('GATEHOUSE_DEFAULT_LEASE_TTL')
    expect(refusal({ DEFAULT_LEASE_TTL: '1h', MAX_LEASE_TTL: '60m' })).toBe('accepted')
  })
})

describe('values', () => {
  test.each([
    ['500ms', 500],
    ['10s', 10_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
  ])('the duration %s is %i ms', (text, milliseconds) => {
    expect(started({ DRAIN_DELAY: text }).drainDelayMs).toBe(milliseconds)
  })

  test.each([
    ['0', 0],
    ['7B', 7],
    ['512KiB', 524_288],
    ['32.5MiB', 34_078_720],
    ['1GiB', 1_073_741_824],
  ])('the size %s is %i bytes', (text, bytes) => {
    expect(started({ MAX_JSON_MEMORY: text }).maxJsonMemory).toBe(bytes)
  })

  test.each([
    ['[::1]:8200', [{ host: '::1', port: 8200 }]],
    ['localhost:0', [{ host: 'localhost', port: 0 }]],
    ['localhost:65535', [{ host: 'localhost', port: 65535 }]],
    ['127.9.9.9:1', [{ host: '127.9.9.9', port: 1 }]],
    [
      'unix:/run/a b/gate.sock, 127.0.0.1:1',
      [{ path: '/run/a b/gate.sock' }, { host: '127.0.0.1', port: 1 }],
    ],
  ])('listen to %s', (text, listen) => {
    expect(started({ LISTEN: text }).listen).toEqual(listen)
  })

  test('a lifetime may be longer than a timer can wait for', () => {
    expect(started({ STOP_TIMEOUT: '24d', MAX_LEASE_TTL: '9999d' })).toMatchObject({
      stopTimeoutMs: 24 * 86_400_000,
      maxLeaseTtlMs: 9999 * 86_400_000,
    })
  })

  test('a path may contain blanks, and a list may have blanks after its commas', () => {
    expect(
      started({ STORAGE: 'sqlite:/var/a b.db', TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8,::1' }),
    ).toMatchObject({
      storage: { kind: 'sqlite', path: '/var/a b.db' },
      trustedProxies: ['10.0.0.0/8', 'fd00::/8', '::1'],
    })
  })

  test('an empty list has no items', () => {
    expect(started({ DEFAULT_MOUNTS: '', OUTBOUND_DENY: '' })).toMatchObject({
      defaultMounts: [],
      outboundDeny: [],
    })
  })

  test.each([
    { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.internal' },
    { https_proxy: 'http://proxy:3128', no_proxy: '.internal' },
    { HTTPS_PROXY: 'http://proxy:3128', https_proxy: 'http://other:1', NO_PROXY: '', no_proxy: '.internal' },
  ])('the usual proxy names are read, the capital ones first: %j', (environment) => {
    const config = readConfig(environment, { dev: false, warn: () => {} })

    expect(config).toMatchObject({ httpsProxy: 'http://proxy:3128', noProxy: '.internal' })
  })
})

describe('audit devices', () => {
  const devices = '[{"path":"file","type":"file","options":{"file_path":"data/audit/a.log"}}]'
  const read = [
    {
      path: 'file/',
      type: 'file',
      description: '',
      local: false,
      options: { file_path: 'data/audit/a.log' },
    },
  ]

  test('have paths that end in a slash', () => {
    expect(started({ AUDIT: devices }).audit).toEqual(read)
  })

  test('may be in a file', async () => {
    await using folder = await temporaryFolder()
    writeFileSync(folder.file('devices'), `${devices}\n`)

    expect(started({ AUDIT_FILE: folder.file('devices') }).audit).toEqual(read)
    expect(refusal({ AUDIT_FILE: folder.file('devices'), AUDIT: devices })).toBe(
      'GATEHOUSE_AUDIT: must not be set together with GATEHOUSE_AUDIT_FILE',
    )
    expect(refusal({ AUDIT_FILE: folder.file('none') })).toBe(
      `GATEHOUSE_AUDIT_FILE: cannot read ${folder.file('none')}: ENOENT`,
    )
  })
})

describe('names', () => {
  const warnings = (values: Record<string, string>): string[] => {
    const texts: string[] = []
    started(values, { warn: (text) => texts.push(text) })
    return texts
  }

  test('an unknown name is a warning without its value', () => {
    expect(warnings({ LISTENING: 'secret', LISTEN: '127.0.0.1:1' })).toEqual([
      'unknown setting GATEHOUSE_LISTENING',
    ])
  })

  test('a known name causes no warning', () => {
    const given = Object.values(settings).filter(({ fallback }) => fallback !== undefined)

    expect(warnings(Object.fromEntries(given.map(({ name, fallback }) => [name, fallback ?? ''])))).toEqual(
      [],
    )
  })

  test.each([
    'SERVICE_HOST',
    'SERVICE_PORT',
    'SERVICE_PORT_HTTP',
    'PORT',
    'PORT_8200_TCP',
    'PORT_8200_TCP_ADDR',
    'API_SERVICE_HOST',
  ])('GATEHOUSE_%s comes from an orchestrator and is ignored', (name) => {
    expect(warnings({ [name]: 'tcp://10.0.0.1:8200' })).toEqual([])
  })

  test('names of other programs are ignored', () => {
    const texts: string[] = []
    readConfig({ VAULT_TOKEN: 'x', GATEHOUSE: 'y' }, { dev: false, warn: (text) => texts.push(text) })

    expect(texts).toEqual([])
  })
})

describe('dangerous settings are refused', () => {
  test('a given root token is refused outside development mode', () => {
    expect(refusal({ ROOT_TOKEN: 'root' })).toBe(
      'GATEHOUSE_ROOT_TOKEN: only npm run dev accepts a root token from the environment',
    )
    expect(refusal({ ROOT_TOKEN: 'root' }, { dev: true })).toBe('accepted')
  })

  test.each([
    '0.0.0.0:8200',
    '[::]:8200',
    '10.0.0.7:8200',
    'vault.example:8200',
    '128.0.0.1:8200',
    '127.evil.example:8200',
  ])('plain HTTP on %s is refused unless TLS is turned off explicitly', (address) => {
    expect(refusal({ LISTEN: address })).toContain('GATEHOUSE_LISTEN: plain HTTP on ')
    expect(refusal({ LISTEN: address }, { dev: true })).toContain('GATEHOUSE_LISTEN: plain HTTP on ')
    expect(refusal({ LISTEN: address, TLS: 'off' })).toBe('accepted')
  })

  test.each(['127.0.0.1:8200', '127.1.2.3:8200', '[::1]:8200', 'localhost:8200'])(
    'plain HTTP on %s is allowed',
    (address) => {
      expect(refusal({ LISTEN: address })).toBe('accepted')
    },
  )
})

// docs/contract/cloud.md#effective-settings, docs/contract/cloud.md#endpoints
describe('the cloud settings of the environment', () => {
  const cloud = (environment: Record<string, string>) =>
    readConfig(environment, { dev: false, warn: () => {} }).cloud

  test('is empty unless set, and an empty string counts as unset', () => {
    const empty = Object.fromEntries(Object.values(cloudSettings).map(({ name }) => [name, '']))

    expect([cloud({}), cloud(empty)]).toEqual([{}, {}])
  })

  test('is read by its familiar names, without the trailing slash of addresses', () => {
    const found = cloud({
      CLOUD_SUBSCRIPTION_ID: 's',
      CLOUD_TENANT_ID: 't',
      CLOUD_CLIENT_ID: 'c',
      CLOUD_CLIENT_SECRET: 'x',
      CLOUD_ENVIRONMENT: 'AzureChinaCloud',
      CLOUD_AUTHORITY_HOST: 'https://login.private/',
      CLOUD_DIRECTORY_ENDPOINT: 'https://127.0.0.1:9301',
      CLOUD_RESOURCE_MANAGER_ENDPOINT: 'https://arm.private/prefix/',
      CLOUD_CA_FILE: '/ca.pem',
    })

    expect(found).toEqual({
      subscriptionId: 's',
      tenantId: 't',
      clientId: 'c',
      clientSecret: 'x',
      environment: 'AzureChinaCloud',
      authorityHost: 'https://login.private',
      directoryEndpoint: 'https://127.0.0.1:9301',
      resourceManagerEndpoint: 'https://arm.private/prefix',
      caFile: '/ca.pem',
    })
  })

  test.each([
    'http://login.private',
    'login.private',
    'https://user@login.private',
    'https://user:word@login.private',
    'https://login.private/?a=b',
    'https://login.private/#a',
    'https://',
    'file:///etc/passwd',
  ])('never sends a secret to "%s"', (address) => {
    for (const name of [
      'CLOUD_AUTHORITY_HOST',
      'CLOUD_DIRECTORY_ENDPOINT',
      'CLOUD_RESOURCE_MANAGER_ENDPOINT',
    ]) {
      expect(() => cloud({ [name]: address })).toThrow(
        new SettingError(`${name}: must be a URL like https://login.example.com`),
      )
    }
  })

  test('is in .env.example, without values', () => {
    const lines = readFileSync(new URL('../.env.example', import.meta.url), 'utf8').split('\n')

    for (const { name, about } of Object.values(cloudSettings))
      expect(lines[lines.indexOf(`#${name}=`) - 1]).toBe(`# ${about}`)
  })

  test('is on the settings page', () => {
    const page = readFileSync(new URL('../docs/settings.md', import.meta.url), 'utf8')

    for (const { name, about } of Object.values(cloudSettings))
      expect(page).toContain(`| \`${name}\` | | ${about} |`)
  })
})
