import { expect, test } from 'vitest'
import { type NamespaceRecord, rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { NamespaceTree } from '../../../src/core/namespaces/namespace-tree.ts'

const at = (path: string): NamespaceRecord => ({ ...rootNamespace, id: path, path })

const tree = new NamespaceTree()
for (const path of ['a/', 'a/b/', 'a/b/c/', 'rooted/', 'nä/']) tree.put(at(path))

test.each<{ header?: string; path: string; namespace: string | undefined; left?: string }>([
  { path: 'sys/mounts', namespace: '', left: 'sys/mounts' },
  { path: 'a/sys/mounts', namespace: 'a/', left: 'sys/mounts' },
  { path: 'a/b/sys/mounts', namespace: 'a/b/', left: 'sys/mounts' },
  { path: 'a/x/sys/mounts', namespace: 'a/', left: 'x/sys/mounts' },
  { path: 'a', namespace: '', left: 'a' },
  { path: 'a/', namespace: 'a/', left: '' },
  { path: 'A/sys', namespace: '', left: 'A/sys' },
  { path: 'ab/sys', namespace: '', left: 'ab/sys' },
  { path: 'root/sys', namespace: '', left: 'root/sys' },
  { header: '', path: 'x', namespace: '', left: 'x' },
  { header: '/', path: 'x', namespace: '', left: 'x' },
  { header: 'root', path: 'x', namespace: '', left: 'x' },
  { header: 'root/', path: 'x', namespace: '', left: 'x' },
  { header: '/root/', path: 'x', namespace: '', left: 'x' },
  { header: 'root/a', path: 'x', namespace: undefined },
  { header: 'a', path: 'x', namespace: 'a/', left: 'x' },
  { header: 'a/', path: 'x', namespace: 'a/', left: 'x' },
  { header: '//a//b/', path: 'x', namespace: 'a/b/', left: 'x' },
  { header: 'a/../a', path: 'x', namespace: 'a/', left: 'x' },
  { header: 'a/./b', path: 'x', namespace: 'a/b/', left: 'x' },
  { header: 'a', path: 'b/x', namespace: 'a/b/', left: 'x' },
  { header: 'a/b', path: 'c/x', namespace: 'a/b/c/', left: 'x' },
  { header: 'a', path: 'a/x', namespace: 'a/', left: 'a/x' },
  { header: 'A', path: 'x', namespace: undefined },
  { header: 'nope', path: 'x', namespace: undefined },
  { header: 'a/nope', path: 'x', namespace: undefined },
  { header: '..', path: 'x', namespace: undefined },
  { header: '../a', path: 'x', namespace: undefined },
  { header: 'a/../../a', path: 'x', namespace: undefined },
  { header: '%61', path: 'x', namespace: undefined },
  { header: 'rooted', path: 'x', namespace: 'rooted/', left: 'x' },
  { header: Buffer.from('nä').toString('latin1'), path: 'x', namespace: 'nä/', left: 'x' },
])('header "$header" and path "$path" are in "$namespace"', ({ header, path, namespace, left }) => {
  const place = tree.resolve(header, path)

  expect(place?.namespace.path).toBe(namespace)
  if (place !== undefined) expect(path.slice(place.taken)).toBe(left)
})

test('children are one level below and descendants at any level, both sorted', () => {
  expect(tree.childrenOf(rootNamespace).map(({ path }) => path)).toEqual(['a/', 'nä/', 'rooted/'])
  expect(tree.descendantsOf(at('a/')).map(({ path }) => path)).toEqual(['a/b/', 'a/b/c/'])
  expect(tree.lineageOf(at('a/b/')).map(({ path }) => path)).toEqual(['', 'a/', 'a/b/'])
})

test('a removed namespace is part of the path again', () => {
  const own = new NamespaceTree()
  own.put(at('x/'))
  expect(own.isRootOnly).toBe(false)

  own.remove(at('x/'))

  expect(own.isRootOnly).toBe(true)
  expect(own.resolve('x', 'y')).toBeUndefined()
  expect(own.resolve(undefined, 'x/y')).toMatchObject({ taken: 0 })
})
