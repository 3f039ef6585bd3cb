import { read } from './deployed.ts'

export const dockerfile = read('Dockerfile')
export const [build = '', image = ''] = dockerfile.split(/^(?=FROM )/m).slice(1)
export const program = '/usr/local/bin/gatehouse'

/** The words of an instruction of the image in JSON. */
const words = (instruction: RegExp): string[] => JSON.parse(instruction.exec(image)?.[1] ?? '[]') as string[]
export const entrypoint = words(/^ENTRYPOINT (\[.*\])$/m)
export const command = words(/^CMD (\[.*\])$/m)
export const healthCheck = words(/^HEALTHCHECK .* CMD (\[.*\])$/m)

/** Folders of the image that the server writes. */
export const writable = ['/data', '/run/gatehouse']
