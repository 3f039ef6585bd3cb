import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The members of an image's configuration, those of OCI and Docker's check of health, from the last stage of the Dockerfile. They
 * are stated there only.
 */
export function imageSettings() {
  const file = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8')
  const [stage = ''] = file.split(/^FROM .*\n/m).slice(-1)
  const lines = stage
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const said = (instruction: string): string => {
    const [line, ...others] = lines.filter((one) => one.startsWith(`${instruction} `))
    if (line === undefined || others.length > 0) throw new Error(`the Dockerfile needs one ${instruction}`)
    return line.slice(instruction.length + 1)
  }
  const words = (instruction: string) => JSON.parse(said(instruction)) as string[]
  const [, interval = '', timeout = '', start = '', retries = '', check = ''] =
    /^--interval=(\d+)s --timeout=(\d+)s --start-period=(\d+)s --retries=(\d+) CMD (.*)$/.exec(
      said('HEALTHCHECK'),
    ) ?? []
  const nanoseconds = (seconds: string) => Number(seconds) * 1_000_000_000
  return {
    User: said('USER'),
    WorkingDir: said('WORKDIR'),
    Env: ['PATH=/usr/local/bin', ...said('ENV').split(/\s+/)],
    Entrypoint: words('ENTRYPOINT'),
    Cmd: words('CMD'),
    StopSignal: said('STOPSIGNAL'),
    ExposedPorts: { [`${said('EXPOSE')}/tcp`]: {} },
    Volumes: { [said('VOLUME')]: {} },
    Healthcheck: {
      Test: ['CMD', ...(JSON.parse(check) as string[])],
      Interval: nanoseconds(interval),
      Timeout: nanoseconds(timeout),
      StartPeriod: nanoseconds(start),
      Retries: Number(retries),
    },
  }
}
