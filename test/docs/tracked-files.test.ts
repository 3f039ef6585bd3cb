import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter(Boolean)

const namesAtTheRoot = `
.ci .dockerignore .env.example .gitattributes .gitignore CHANGELOG.md CONTRIBUTING.md Dockerfile LICENSE README.md
SECURITY.md bench bin biome.json deploy docker-compose.yml docs knip.ts migrations package-lock.json package.json
release simulators src test tsconfig.json ui vitest.config.ts`

/** What a server or a command writes: a store, its lock and copies, a seal key, a root token, private keys. */
const secretFile = /(\.(db|sqlite3?)(-wal|-shm|\.lock)?|\.pem|\.p12|\.pfx|\.key|(^|\/)(root-token|\.env))$/

test('the repository has only the known names at its root', () => {
  const names = new Set(tracked.map((file) => file.split('/')[0]))

  expect([...names].sort()).toEqual(namesAtTheRoot.trim().split(/\s+/).sort())
})

test('no tracked file is a store, a key or a token', () => {
  expect(tracked.filter((file) => secretFile.test(file))).toEqual([])
})

test.each([
  'store/gatehouse.db',
  'a/b.db-wal',
  'a/b.db-shm',
  'a/b.db.lock',
  'store/seal.key',
  'root-token',
  'x/root-token',
])('a file named %s counts as one and is ignored by git', (file) => {
  expect(secretFile.test(file)).toBe(true)
  expect(
    execFileSync('git', ['check-ignore', '--no-index', file], { cwd: root, encoding: 'utf8' }).trim(),
  ).toBe(file)
})
