import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config/config.ts'

/** A part of a manifest: any member may be read and compared. */
export type Part = { readonly [member: string]: Part } & readonly Part[]

/** A file of this project. */
export const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The manifests in a text of YAML. `0440` is octal there, as it is for kubectl. */
export const manifestsIn = (text: string): readonly Part[] =>
  parseAllDocuments(text, { version: '1.1' }).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Part
  })

/** Settings of the image. */
export const imageSettings: Readonly<Record<string, string>> = Object.fromEntries(
  [...read('Dockerfile').matchAll(/^\s*(?:ENV )?\w*\s*(GATEHOUSE_\w+)=(\S+)( \\)?$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
)

/** Reads settings of a container as the server does; an unknown one is an error. */
export const settingsOf = (environment: Readonly<Record<string, string>>) =>
  readConfig(
    { ...imageSettings, ...environment },
    {
      dev: false,
      warn: (text) => {
        throw new Error(text)
      },
    },
  )

export const texts = (part: Part | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(part ?? {}).map(([name, value]) => [name, String(value)]))

/** The names of what a list has, such as volumes. */
export const namesIn = (list: Part | undefined): readonly string[] =>
  [...(list ?? [])].map(({ name }) => String(name))
