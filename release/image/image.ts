import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type TarEntry, tarOf } from '../tar.ts'
import { librariesFor, type Processor } from './libraries.ts'
import { imageSettings } from './settings.ts'

/** Processors of images by the platforms of executables. */
export const processors = {
  'linux-x64': { architecture: 'amd64', loader: 'lib64/ld-linux-x86-64.so.2' },
  'linux-arm64': { architecture: 'arm64', loader: 'lib/ld-linux-aarch64.so.1' },
} as const satisfies Record<string, Processor>

type ImageTask = {
  readonly version: string
  /** In RFC 3339. */
  readonly made: string
  readonly executables: readonly { readonly processor: Processor; readonly path: string }[]
  /** Files that must accompany the executable. */
  readonly documents: readonly string[]
}

/** Beginning and end of the OCI's media types. */
const typeOf = (what: string) => `application/vnd.oci.image.${what}`
const user = 65_532

/**
 * An image for each processor, as one archive with an OCI layout, which no container engine makes: nothing but the
 * executable, the libraries that it needs, and folders of its user. Settings are those of the Dockerfile.
 * docs/deployment.md#the-image
 */
export async function imageArchive({ version, made, executables, documents }: ImageTask): Promise<Buffer> {
  const blobs = new Map<string, Uint8Array>()
  const add = (mediaType: string, content: Uint8Array) => {
    const hash = sha256(content)
    blobs.set(`blobs/sha256/${hash}`, content)
    return { mediaType, digest: `sha256:${hash}`, size: content.length }
  }
  const addJson = (mediaType: string, content: object) => add(mediaType, json(content))
  const config = imageSettings()
  const annotations = {
    'org.opencontainers.image.title': 'gatehouse',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.created': made,
    'org.opencontainers.image.licenses': 'MPL-2.0',
  }
  const manifests: object[] = []
  for (const { processor, path } of executables) {
    const { architecture } = processor
    const layer = tarOf(await filesOf(processor, path, documents))
    const settings = addJson(typeOf('config.v1+json'), {
      ...{ created: made, architecture, os: 'linux', config: { ...config, Labels: annotations } },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created: made, created_by: 'npm run release' }],
    })
    const layers = [add(typeOf('layer.v1.tar+gzip'), gzipSync(layer))]
    const type = { schemaVersion: 2, mediaType: typeOf('manifest.v1+json') }
    const manifest = addJson(type.mediaType, { ...type, config: settings, layers, annotations })
    manifests.push({ ...manifest, platform: { architecture, os: 'linux' } })
  }
  const type = { schemaVersion: 2, mediaType: typeOf('index.v1+json') }
  const index = addJson(type.mediaType, { ...type, manifests, annotations })
  // one name for both: a program that reads it chooses the processor
  const named = { ...index, annotations: { 'org.opencontainers.image.ref.name': version } }
  const file = (path: string, content: Uint8Array): TarEntry => ({ path, content, mode: 0o644 })
  return tarOf([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json({ ...type, manifests: [named] })),
    ...[...blobs].map(([path, content]) => file(path, content)),
  ])
}

async function filesOf(
  processor: Processor,
  executable: string,
  documents: readonly string[],
): Promise<TarEntry[]> {
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-image-'))
  try {
    const text = (path: string, content: string) => ({ path, content: Buffer.from(content), mode: 0o644 })
    const files: TarEntry[] = [
      ...(await librariesFor(processor, work)),
      { path: 'usr/local/bin/gatehouse', content: await readFile(executable), mode: 0o755 },
      text('etc/passwd', `root:x:0:0::/:/none\nnonroot:x:${user}:${user}::/data:/none\n`),
      text('etc/group', `root:x:0:\nnonroot:x:${user}:\n`),
      // without it, glibc looks names up in DNS before it reads /etc/hosts
      text('etc/nsswitch.conf', 'hosts: files dns\n'),
    ]
    for (const path of documents)
      files.push({
        path: `usr/share/doc/gatehouse/${basename(path)}`,
        content: await readFile(path),
        mode: 0o644,
      })
    const own: TarEntry[] = [
      { path: 'data', mode: 0o700, owner: user },
      { path: 'run/gatehouse', mode: 0o700, owner: user },
      { path: 'tmp', mode: 0o1777 },
      // where the system puts its own
      ...['proc', 'sys', 'dev'].map((path) => ({ path, mode: 0o755 })),
    ]
    return inOrder([...files, ...own])
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Folders come before what they have. */
function inOrder(entries: readonly TarEntry[]): TarEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]))
  for (const { path } of entries)
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
      if (!all.has(folder)) all.set(folder, { path: folder, mode: 0o755 })
  return [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')
const json = (content: object) => Buffer.from(JSON.stringify(content))
