import { mkdir, symlink } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { checkNewTarget, sinkTarget } from '../../../src/core/audit/device-options.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const hosts = ['logs.example.com:443', '127.0.0.1:8080', 'localhost:80', '[::1]:9000', '10.0.0.1:80']
const limits = { directories: ['/var/gatehouse-audit'], hosts }

type Options = Record<string, string>

const refusalOf = (type: string, options: Options) => {
  try {
    return sinkTarget(type, options, limits)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

test.each<{ options: Options; target: object }>([
  { options: { file_path: 'stdout' }, target: { kind: 'stdout' } },
  { options: { path: 'discard' }, target: { kind: 'discard' } },
  {
    options: { file_path: '/var/gatehouse-audit/a/audit.log' },
    target: { kind: 'file', path: '/var/gatehouse-audit/a/audit.log', mode: 0o600 },
  },
  { options: { path: '/var/gatehouse-audit/audit.log', mode: '0755' }, target: { mode: 0o644 } },
  { options: { path: '/var/gatehouse-audit/audit.log', mode: '0000' }, target: { mode: 0 } },
  { options: { path: '/var/gatehouse-audit/audit.log', mode: '4640' }, target: { mode: 0o640 } },
])('a file device with $options writes to $target', ({ options, target }) => {
  expect(sinkTarget('file', options, limits)).toMatchObject(target)
})

test.each([
  { path: '/var/gatehouse-audit/a/audit.log', own: '/var/gatehouse-audit/a/audit-2.log' },
  { path: '/var/gatehouse-audit/audit', own: '/var/gatehouse-audit/audit-2' },
  { path: '/var/gatehouse-audit/a.b/audit.json.log', own: '/var/gatehouse-audit/a.b/audit.json-2.log' },
])('the second of several processes writes $own instead of $path', ({ path, own }) => {
  expect(sinkTarget('file', { path }, { ...limits, worker: 2 })).toMatchObject({ path: own })
})

test('one of several processes refuses to write to standard output', () => {
  expect(() => sinkTarget('file', { path: 'stdout' }, { ...limits, worker: 1 })).toThrow(
    'stdout cannot be shared by several processes (GATEHOUSE_WORKERS)',
  )
})

test.each<{ options: Options; text: string }>([
  { options: {}, text: 'file_path is required' },
  { options: { file_path: '' }, text: 'file_path is required' },
  { options: { file_path: '/var/log/audit.log' }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: '/var/gatehouse-audit2/a' }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: '/var/gatehouse-audit/../a' }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: '/dev/null/audit.log' }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: `/var/${'a'.repeat(300)}/a` }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: 'audit.log' }, text: 'file_path is not in an allowed directory' },
  { options: { file_path: '/var/gatehouse-audit/a', mode: 'rw' }, text: 'mode is not an octal number' },
])('a file device with $options is refused', ({ options, text }) => {
  expect(refusalOf('file', options)).toBe(text)
})

test.each<{ options: Options; text: string }>([
  ...['0666', '0620', '602', '04666', '777'].map((mode) => ({
    options: { file_path: '/var/gatehouse-audit/a', mode },
    text: 'mode lets the group or others write to the file',
  })),
  ...['a\nb', 'a\u001b[2J', 'a\u007f', 'a\u0085', '\0', '\r/a'].map((name) => ({
    options: { path: `/var/gatehouse-audit/${name}` },
    text: 'file_path contains a control character',
  })),
])('a new file device with $options is refused', ({ options, text }) => {
  expect(() => checkNewTarget('file', options)).toThrow(text)
})

test.each(['0600', '0640', '0644', '0755', '0000', undefined])(
  'a new file device may have the mode %s',
  (mode) => {
    const options = { file_path: '/var/gatehouse-audit/a', ...(mode !== undefined && { mode }) }

    expect(() => checkNewTarget('file', options)).not.toThrow()
  },
)

test('a file device that an earlier version let others write to keeps working, for the server alone', () => {
  expect(sinkTarget('file', { path: '/var/gatehouse-audit/a', mode: '0666' }, limits)).toMatchObject({
    mode: 0o644,
  })
})

test('a file name that the system does not accept is refused', () => {
  expect(refusalOf('file', { file_path: '/var/gatehouse-audit/\0/a' })).toBe(
    'file_path is not in an allowed directory',
  )
})

test('a folder that leads out of the allowed ones is refused', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('in'))
  await mkdir(folder.file('out'))
  await symlink(folder.file('out'), folder.file('in/way'))

  const open = () =>
    sinkTarget('file', { path: folder.file('in/way/a.log') }, { directories: [folder.file('in')], hosts })

  expect(open).toThrow('file_path is not in an allowed directory')
})

test('an allowed folder may itself be a symbolic link', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.file('real'))
  await symlink(folder.file('real'), folder.file('link'))

  const target = sinkTarget(
    'file',
    { path: folder.file('link/a.log') },
    { directories: [folder.file('link')], hosts },
  )

  expect(target).toMatchObject({ kind: 'file' })
})

test.each([
  'https://logs.example.com/audit',
  'http://127.0.0.1:8080/',
  'http://localhost/',
  'http://[::1]:9000/a',
])('an HTTP device may send to %s', (uri) => {
  expect(sinkTarget('http', { uri, headers: '{"X-Key":"a"}' }, limits)).toEqual({
    kind: 'http',
    uri,
    headers: { 'x-key': 'a' },
  })
})

test.each<{ options: Options; text: string }>([
  { options: {}, text: 'uri is not a URL' },
  { options: { uri: 'logs' }, text: 'uri is not a URL' },
  { options: { uri: 'ftp://logs.example.com' }, text: 'uri must begin with https://' },
  {
    options: { uri: 'http://10.0.0.1/' },
    text: 'uri must begin with https:// unless its host is a loopback address',
  },
  { options: { uri: 'https://a:b@logs.example.com' }, text: 'uri must not contain a password' },
  { options: { uri: 'https://logs.example.com:444/' }, text: 'uri is not an allowed host' },
  { options: { uri: 'https://example.com/' }, text: 'uri is not an allowed host' },
])('an HTTP device with $options is refused', ({ options, text }) => {
  expect(refusalOf('http', options)).toBe(text)
})

test.each([
  { headers: 'a: b', text: 'headers is not a JSON object' },
  { headers: '["a"]', text: 'headers is not a JSON object' },
  { headers: '{"a b":"c"}', text: 'headers has a name or value that is not allowed' },
  { headers: '{"a":"b\\r\\nc: d"}', text: 'headers has a name or value that is not allowed' },
  { headers: '{"a":1}', text: 'headers has a name or value that is not allowed' },
  { headers: '{"Content-Length":"1"}', text: 'headers has a name or value that is not allowed' },
  { headers: '{"Host":"other"}', text: 'headers has a name or value that is not allowed' },
])('an HTTP device with the headers $headers is refused', ({ headers, text }) => {
  expect(refusalOf('http', { uri: 'https://logs.example.com/', headers })).toBe(text)
})

test('other types are refused', () => {
  expect(refusalOf('syslog', {})).toBe('unknown backend type: "syslog"')
})
