import { createHash } from 'node:crypto'
import { chown, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { manifestsIn } from '../deploy/deployed.ts'
import { helm, outcomeOf } from '../deploy/tools.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { environment } from './clone.ts'
import { expectToServe } from './serves.ts'

const project = join(import.meta.dirname, '../..')
const limit = { timeout: 600_000 }

/** What it contains, in a part of a release's files. */
type Bundle = {
  readonly process: { readonly args: string[]; readonly env: string[]; readonly user: { uid: number } }
}

/** A release that is there; otherwise one is made. */
const given = process.env['TEST_RELEASE']

// it downloads Node for each platform and the libraries of the image
describe.skipIf(process.env['CI'] !== 'true' && given === undefined)(
  'the folder that npm run release makes',
  limit,
  () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    const file = (kind: string) => folder.file(`out/gatehouse-${productVersion}-${kind}`)
    const succeed = async (program: string, args: readonly string[], cwd = folder.path) => {
      const outcome = await outcomeOf(program, args, { cwd, env: environment })
      expect(outcome).toMatchObject({ code: 0 })
      return outcome
    }
    const newFolder = async (name: string) => {
      await mkdir(folder.file(name))
      return folder.file(name)
    }
    /** The files and the configuration of the image for a processor, unpacked by other programs than ours. */
    const unpacked = async (architecture: string) => {
      const [copy, bundle] = [folder.file(`image-${architecture}`), folder.file(`bundle-${architecture}`)]
      const source = `oci-archive:${file('oci.tar')}`
      await succeed('skopeo', ['--override-arch', architecture, 'copy', '--quiet', source, `oci:${copy}:one`])
      await succeed('umoci', ['unpack', '--image', `${copy}:one`, bundle])
      const config = JSON.parse(await readFile(join(bundle, 'config.json'), 'utf8')) as Bundle
      const { args, env, user } = config.process
      return {
        ...{ root: join(bundle, 'rootfs'), args, user: user.uid },
        env: Object.fromEntries(env.map((one) => one.split(/=(.*)/s).slice(0, 2) as [string, string])),
      }
    }

    beforeAll(async () => {
      folder = await temporaryFolder()
      if (given !== undefined) await symlink(resolve(given), folder.file('out'))
      else await succeed('npm', ['run', 'release', '--', '--out', folder.file('out')], project)
      return () => folder[Symbol.asyncDispose]()
    }, limit.timeout)

    test('has these files, with their checksums and sizes', async () => {
      const names = await readdir(folder.file('out'))
      const sums = (await readFile(folder.file('out/SHA256SUMS'), 'utf8')).trim().split('\n')
      const notes = await readFile(folder.file('out/RELEASE-NOTES.md'), 'utf8')
      const listed = notes.matchAll(/^\| `(.*)` \| ([\d,]+) \| .* \|$/gm).toArray()
      const untested = listed
        .filter(([line]) => line.includes('untested: no test runs it'))
        .map(([, name]) => name)
      const others = [
        'LICENSE',
        'RELEASE-NOTES.md',
        'SHA256SUMS',
        'THIRD-PARTY-LICENSES.txt',
        'gatehouse.cdx.json',
      ]
      const kinds = ['linux-x64', 'linux-arm64', 'npm.tgz', 'oci.tar', 'chart.tgz']
      const elsewhere = ['darwin-x64-untested', 'darwin-arm64-untested', 'win-x64-untested.exe'].map(
        (kind) => `gatehouse-${productVersion}-${kind}`,
      )

      const ours = kinds.map((kind) => `gatehouse-${productVersion}-${kind}`)
      expect(names.toSorted()).toEqual([...others, ...ours, ...elsewhere].toSorted())
      for (const line of sums) {
        const [sum, name = ''] = line.split('  ')
        expect({ name, sum }).toEqual({ name, sum: await sha256(folder.file(`out/${name}`)) })
      }
      expect(sums).toHaveLength(names.length - 1)
      for (const [, name = '', bytes = ''] of listed)
        expect({ name, bytes: Number(bytes.replaceAll(',', '')) }).toEqual({
          name,
          bytes: (await stat(folder.file(`out/${name}`))).size,
        })
      expect(listed).toHaveLength(names.length - 2)
      expect(untested).toEqual(elsewhere)
      expect(notes).toMatch(
        new RegExp(`^# Gatehouse ${productVersion} \\(\\d{4}-\\d\\d-\\d\\d\\)\n[^]*\n## New\n`),
      )
    })

    test('has executables of each platform', async () => {
      const heads = {
        'darwin-x64-untested': 'cffaedfe07',
        'darwin-arm64-untested': 'cffaedfe0c',
        'win-x64-untested.exe': '4d5a',
      }

      for (const [kind, head] of Object.entries(heads))
        expect((await readFile(file(kind))).toString('hex', 0, head.length / 2)).toBe(head)
    })

    test('has an executable for Linux x64 that serves', async () => {
      await expectToServe({ command: [file('linux-x64')], folder: await newFolder('x64') })
    })

    test('has a package that npm installs and that serves', async () => {
      const at = await newFolder('npm')
      await succeed('npm', ['install', '--no-audit', '--no-fund', file('npm.tgz')], at)

      await expectToServe({
        command: [join(at, 'node_modules/.bin/gatehouse')],
        // as with npx: the Node that npm installs with it
        env: { PATH: `${join(at, 'node_modules/.bin')}:/usr/bin:/bin` },
        folder: await newFolder('npm-data'),
      })
    })

    test('has an image for x64 that serves as its user, and writes nothing but /data', async () => {
      const { root, args, env, user } = await unpacked('amd64')
      const data = await newFolder('data-amd64')
      await chown(data, user, user)
      const script = join(import.meta.dirname, 'unpacked-image.sh')
      const [program = '', ...rest] = args

      expect([program, ...rest, user]).toEqual(['/usr/local/bin/gatehouse', 'server', 65_532])
      expect(await sha256(join(root, program))).toBe(await sha256(file('linux-x64')))
      await expectToServe({
        command: ['/usr/bin/unshare', '--mount', '/bin/sh', script, root, data, `${user}:${user}`, program],
        ...{ args: rest, folder: data, inside: '/data', env, user },
      })
    })

    test('has an image for arm64 whose executable, which is that of the release, serves with its libraries', async () => {
      const { root, args, env } = await unpacked('arm64')
      const [program = '', ...rest] = args

      expect(await sha256(join(root, program))).toBe(await sha256(file('linux-arm64')))
      const { GATEHOUSE_AUDIT_DIRS: _, ...others } = env
      await expectToServe({
        command: ['/usr/bin/qemu-aarch64', '-L', root, file('linux-arm64')],
        ...{ args: rest, folder: await newFolder('data-arm64'), env: others },
        // it runs in a process of its own, which the emulator cannot start
        backup: [file('linux-x64')],
      })
    })

    test('has a chart that Helm renders, with the image of this version', async () => {
      const set = [
        '--set',
        'image.repository=registry.example.com/gatehouse,apiAddr=https://gate.example.com',
      ]
      const { stdout } = await succeed(helm, [
        'template',
        'gate',
        file('chart.tgz'),
        '--kube-version',
        '1.37.0',
        ...set,
      ])

      const images = manifestsIn(stdout).flatMap(
        (one) => one['spec']?.['template']?.['spec']?.['containers']?.[0]?.['image'] ?? [],
      )
      expect(images.map(String)).toEqual([`registry.example.com/gatehouse:${productVersion}`])
    })
  },
)

const sha256 = async (path: string) =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
