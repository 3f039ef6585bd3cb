import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { folderOf, imageUser, started } from '../deploy/container.ts'
import { manifestsIn } from '../deploy/deployed.ts'
import { helm, outcomeOf } from '../deploy/tools.ts'
import { productVersion } from '../support/product-version.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { environment } from './clone.ts'
import { asProcess, expectToServe } from './serves.ts'

const project = join(import.meta.dirname, '../..')
const limit = { timeout: 600_000 }

/** Its content, in a part of a release's files. */
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
        environment: Object.fromEntries(
          env.map((one) => one.split(/=(.*)/s).slice(0, 2) as [string, string]),
        ),
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

    test('has a bill of materials of this version', async () => {
      const bill: { metadata: { component: object } } = JSON.parse(
        await readFile(folder.file('out/gatehouse.cdx.json'), 'utf8'),
      )

      expect(bill.metadata.component).toMatchObject({ name: 'gatehouse', version: productVersion })
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
      await expectToServe(asProcess({ program: [file('linux-x64')], folder: await newFolder('x64') }))
    })

    test('has a package that npm installs and that serves', async () => {
      const at = await newFolder('npm')
      await succeed('npm', ['install', '--no-audit', '--no-fund', file('npm.tgz')], at)
      const programs = join(at, 'node_modules/.bin')

      // as with npx: the Node that npm installs with it
      const environment = { PATH: `${programs}:/usr/bin:/bin` }
      await expectToServe(
        asProcess({
          program: [join(programs, 'gatehouse')],
          environment,
          folder: await newFolder('npm-data'),
        }),
      )
    })

    test('has an image for x64 that serves in a container, as its user and without rights', async () => {
      const { root, args, environment, user } = await unpacked('amd64')
      const data = await folderOf(user, folder.file('data-amd64'))
      const [program = ''] = args

      expect([...args, user]).toEqual(['/usr/local/bin/gatehouse', 'server', imageUser])
      expect(await sha256(join(root, program))).toBe(await sha256(file('linux-x64')))
      await expectToServe({
        ...{ folder: data, inside: '/data', user },
        start: async (settings) => {
          const container = await started(folder.path, {
            ...{ root, args, user, sharesNetwork: true },
            environment: { ...environment, ...settings },
            mounts: [{ destination: '/data', source: data }],
          })
          return Object.assign(container, {
            command: (...more: string[]) => container.exec(program, ...more),
          })
        },
      })
    })

    test('has an image for arm64 whose executable, which is that of the release, serves with its libraries', async () => {
      const { root, args } = await unpacked('arm64')
      const [program = ''] = args

      expect(await sha256(join(root, program))).toBe(await sha256(file('linux-arm64')))
      await expectToServe(
        asProcess({
          program: ['/usr/bin/qemu-aarch64', '-L', root, file('linux-arm64')],
          folder: await newFolder('data-arm64'),
          // it runs in a process of its own, which the emulator cannot start
          backup: [file('linux-x64')],
        }),
      )
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
