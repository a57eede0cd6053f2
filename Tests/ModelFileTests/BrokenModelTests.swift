// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ModelFile
import ModelFolders
import Testing

/// A model's text, from line 2 of its file, and all that is found in it.
struct BrokenModel: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let body: String
    let findings: [String]

    init(_ description: String, _ body: String, _ findings: String...) {
        testDescription = description
        self.body = body
        self.findings = findings
    }
}

@Suite struct BrokenModelTests {
    @Test(arguments: [attributes, relationships, entities, modelLevel].joined())
    func allProblemsAreFoundWithTheirLines(model: BrokenModel) throws {
        #expect(try findings { try ModelFolder(body: model.body).read() } == model.findings)
    }

    static let attributes = [
        BrokenModel(
            "unknown type", #"<entity name="E"><attribute name="a" attributeType="Text"/></entity>"#,
            "2 error: E.a has an unknown attribute type 'Text'"),
        BrokenModel(
            "no type", #"<entity name="E"><attribute name="a"/></entity>"#,
            "2 error: E.a has no attribute type; only a transient attribute may have none"),
        BrokenModel(
            "default values",
            """
            <entity name="E">
                <attribute name="a" attributeType="Integer 16" defaultValueString="32768"/>
                <attribute name="b" attributeType="Double" defaultValueString="much"/>
                <attribute name="c" attributeType="Boolean" defaultValueString="maybe"/>
                <attribute name="d" attributeType="UUID" defaultValueString="1"/>
                <attribute name="e" attributeType="Decimal" defaultValueString="1,5"/>
                <attribute name="f" attributeType="Float" defaultValueString="1e300"/>
                <attribute name="g" attributeType="Binary" defaultValueString="x"/>
            </entity>
            """,
            "3 error: E.a has the default value '32768'; expected a whole number from -32768 to 32767",
            "4 error: E.b has the default value 'much'; expected a number",
            "5 error: E.c has the default value 'maybe'; expected YES or NO",
            "6 error: E.d has the default value '1'; expected a UUID",
            "7 error: E.e has the default value '1,5'; expected a decimal number",
            "8 error: E.f has the default value '1e300'; expected a number that a Float can hold",
            "9 warning: not supported yet: E.g has a default value that an attribute of its type cannot have; it is ignored"
        ),
        BrokenModel(
            "flags, bounds and unknown text",
            """
            <entity name="E">
                <attribute name="a" attributeType="String" optional="perhaps" wobbly="YES"><note/></attribute>
                <attribute name="b" attributeType="Integer 16" minValueString="9" maxValueString="1"/>
                <attribute name="c" attributeType="String" regularExpressionString="(["/>
            </entity>
            """,
            "3 error: E.a has 'perhaps' for optional; expected YES or NO",
            "3 warning: E.a has an unknown attribute 'wobbly'",
            "3 warning: E.a has an unknown element 'note'",
            "4 error: E.b has a minimum above its maximum",
            "5 error: E.c has a regular expression that cannot be read: '(['"),
        BrokenModel(
            "names",
            """
            <entity name="E">
                <attribute name="objectID" attributeType="String"/>
                <attribute name="description" attributeType="String"/>
                <attribute name="isDeleted" attributeType="Boolean"/>
                <attribute name="two words" attributeType="String"/>
                <attribute name="Title" attributeType="String"/>
                <attribute name="_setString" attributeType="String"/>
            </entity>
            """,
            "3 error: E.objectID has the name of a member of NSManagedObject; choose another",
            "4 error: E.description has the name of a member of NSManagedObject; choose another",
            "5 error: E.isDeleted has the name of a member of NSManagedObject; choose another",
            "6 error: E.two words has a name that is not a letter followed by letters, digits and underscores",
            "7 warning: E.Title has a name that starts with an uppercase letter",
            "8 error: E._setString has the name of a member of NSManagedObject; choose another"),
        BrokenModel(
            "derivations",
            """
            <entity name="E">
                <attribute name="a" attributeType="String" derived="YES" derivationExpression="canonical:(gone)"/>
                <attribute name="b" attributeType="Integer 64" derived="YES" derivationExpression="a.@count"/>
                <attribute name="c" attributeType="Date" derived="YES" derivationExpression="now()"/>
                <attribute name="d" attributeType="Date" derived="YES"/>
                <attribute name="e" attributeType="String" transient="YES"/>
                <attribute name="f" attributeType="String" derived="YES" derivationExpression="canonical:(e)"/>
            </entity>
            """,
            "3 error: E.a is derived from 'gone', and E has no property 'gone'",
            "4 error: E.b is derived from 'a.@count', where 'a' is an attribute and leads nowhere",
            "6 error: E.d is derived and has no derivation expression",
            "8 warning: E.f is derived from 'e', where 'e' is transient: no store can compute it"),
        BrokenModel(
            "types for transient attributes",
            """
            <entity name="E">
                <attribute name="a" attributeType="Undefined"/>
                <attribute name="b" attributeType="Object ID" transient="YES"/>
            </entity>
            """,
            "3 error: E.a has the type Undefined, which only a transient attribute may have"),
        BrokenModel(
            "expressions",
            """
            <entity name="E" coreSpotlightDisplayNameExpression="(">
                <attribute name="a" attributeType="String"/>
                <attribute name="b" attributeType="String" derived="YES" derivationExpression="canonical:(a"/>
                <fetchedProperty name="c"><fetchRequest name="r" entity="E" predicateString="a =="/></fetchedProperty>
                <fetchIndex name="d" partialIndexPredicate="a &gt; "><fetchIndexElement property="a" shape="round"/></fetchIndex>
                <fetchIndex name="e"><fetchIndexElement expression="((" expressionType="Text"/></fetchIndex>
                <fetchIndex name="f"><fetchIndexElement expression="((" expressionType="String"/></fetchIndex>
            </entity>
            <fetchRequest name="One" entity="E" predicateString="a = %K"/>
            <fetchRequest name="Two" entity="E" predicateString="a == $x AND gone.name == 'b' AND SELF IN $y"/>
            <fetchRequest name="Three" entity="E" predicateString="a MATCHES[z] 'x'"/>
            """,
            "2 error: E has a display name for search that cannot be read: '(', column 2: expected a key, a value or a condition, found the end",
            "4 error: E.b has a derivation expression that cannot be read: 'canonical:(a', column 13: expected ')' or ',', found the end",
            "5 error: E.c has a predicate that cannot be read: 'a ==', column 5: expected a key, a value or a condition, found the end",
            "6 error: E.d has a predicate that cannot be read: 'a > ', column 5: expected a key, a value or a condition, found the end",
            "6 warning: E.d has an unknown attribute 'shape' in an index element",
            "7 error: E.e has an unknown expression type 'Text'",
            "8 error: E.f has an expression that cannot be read: '((', column 3: expected a key, a value or a condition, found the end",
            "8 warning: E.f is an index on an expression; stores leave it out",
            "10 error: fetch request 'One' has a predicate that cannot be read: 'a = %K', column 5: placeholder 1 has no argument",
            "11 warning: fetch request 'Two' has a predicate that asks for 'gone', which E does not have",
            "12 error: fetch request 'Three' has a predicate that cannot be read: 'a MATCHES[z] 'x'', column 11: expected c, d, n or l in "
                + "brackets, found 'z'"),
    ]

    static let relationships = [
        BrokenModel(
            "destinations and inverses",
            """
            <entity name="A">
                <relationship name="gone" destinationEntity="Gone"/>
                <relationship name="nowhere" toMany="YES"/>
                <relationship name="b" destinationEntity="B" inverseName="a"/>
                <relationship name="c" destinationEntity="B" inverseName="missing" ordered="YES"/>
                <relationship name="d" destinationEntity="B" deletionRule="Explode" maxCount="1"/>
            </entity>
            <entity name="B"><relationship name="a" destinationEntity="A" inverseName="other"/></entity>
            """,
            "3 error: A.gone has an unknown destination entity 'Gone'",
            "3 warning: A.gone has no inverse",
            "4 warning: A.nowhere has no inverse", "4 error: A.nowhere names no destination entity",
            "5 error: A.b has an inverse 'B.a' that does not point back",
            "6 error: A.c has an inverse 'missing' that B does not declare",
            "6 error: A.c is ordered but not to-many",
            "7 error: A.d has an unknown delete rule 'Explode'",
            "7 warning: A.d has no inverse",
            "9 error: B.a has an inverse 'other' that A does not declare"),
        BrokenModel(
            "an inverse that leads elsewhere",
            """
            <entity name="A"><relationship name="b" destinationEntity="B" inverseName="a"/></entity>
            <entity name="B"><relationship name="a" destinationEntity="C" inverseName="b"/></entity>
            <entity name="C"><relationship name="b" destinationEntity="B" inverseName="a"/></entity>
            """,
            "2 error: A.b has an inverse 'B.a' that leads to C"),
        BrokenModel(
            "counts",
            """
            <entity name="A">
                <relationship name="b" toMany="YES" minCount="3" maxCount="2" destinationEntity="A" inverseName="b"/>
                <relationship name="c" minCount="-1" maxCount="4" destinationEntity="A" inverseName="c"/>
            </entity>
            """,
            "3 error: A.b has a minimum count above its maximum count",
            "4 error: A.c has '-1' for minCount; expected a whole number from 0",
            "4 warning: A.c is to-one and ignores its maxCount"),
    ]

    static let entities = [
        BrokenModel(
            "hierarchies",
            """
            <entity name="A" parentEntity="B"/>
            <entity name="B" parentEntity="A"/>
            <entity name="C" parentEntity="Gone"/>
            <entity name="D"/>
            <entity name="D"/>
            <entity name=""/>
            """,
            "2 error: A is its own ancestor",
            "3 error: B is its own ancestor",
            "4 error: C has an unknown parent entity 'Gone'",
            "6 error: D is declared 2 times",
            "7 error: an entity has no name"),
        BrokenModel(
            "properties declared twice",
            """
            <entity name="A"><attribute name="x" attributeType="String"/></entity>
            <entity name="B" parentEntity="A">
                <attribute name="x" attributeType="String"/>
                <attribute name="y" attributeType="String"/>
                <relationship name="y" destinationEntity="A"/>
            </entity>
            """,
            "4 error: B.x is declared twice (also in A)",
            "6 warning: B.y has no inverse",
            "6 error: B.y is declared twice (also in B)"),
        BrokenModel(
            "indexes and constraints",
            """
            <entity name="A" isAbstract="YES">
                <attribute name="x" attributeType="String"/>
                <fetchIndex name="one"><fetchIndexElement property="gone" order="up"/></fetchIndex>
                <fetchIndex name="two"><fetchIndexElement property="gone"/></fetchIndex>
                <fetchIndex name="three"><fetchIndexElement expression="x + 1" expressionType="String"/></fetchIndex>
                <uniquenessConstraints><uniquenessConstraint><constraint value="gone"/></uniquenessConstraint></uniquenessConstraints>
            </entity>
            """,
            "2 error: A has a uniqueness constraint on an unknown attribute 'gone'",
            "2 warning: A is abstract and no entity has it as its parent",
            "4 error: A.one has an unknown order 'up'; expected ascending or descending",
            "5 error: A.two is an index on an unknown property 'gone'",
            "6 warning: A.three is an index on an expression; stores leave it out"),
        BrokenModel(
            "generated classes",
            """
            <entity name="A" representedClassName="Same" codeGenerationType="class"/>
            <entity name="B" representedClassName="Same" codeGenerationType="class"/>
            <entity name="C" codeGenerationType="class"/>
            <entity name="D" representedClassName="Any" codeGenerationType="category"/>
            <entity name="E" representedClassName="Kept"/>
            <entity name="F" parentEntity="E" representedClassName="Kept" codeGenerationType="class"/>
            <entity name="G" codeGenerationType="magic"/>
            """,
            "3 error: B has the class 'Same', which is also generated for A",
            "4 warning: C asks for a generated class and names no class; none is written",
            "5 error: D has a class name that Swift does not accept: 'Any'",
            "7 error: F has a generated class with the name of its ancestor's class 'Kept'",
            "8 error: G has an unknown kind of code generation 'magic'; expected class or category"),
    ]

    static let modelLevel = [
        BrokenModel(
            "configurations and fetch requests",
            """
            <entity name="A"/>
            <configuration name="Cloud"><memberEntity name="Gone"/></configuration>
            <configuration name="Cloud"/>
            <fetchRequest name="All" entity="Gone"/>
            <fetchRequest name="All" entity="A" resultType="7"/>
            <surprise/>
            """,
            "1 warning: the model has an unknown element 'surprise'",
            "4 error: configuration 'Cloud' is declared twice",
            "6 error: fetch request 'All' fetches an unknown entity 'Gone'",
            "6 error: fetch request 'All' has an unknown result type 7",
            "6 error: fetch request 'All' is declared twice"),
        BrokenModel(
            "composites",
            """
            <composite name="A"><attribute name="b" attributeType="Composite" composite="B"/></composite>
            <composite name="B"><attribute name="a" attributeType="Composite" composite="A"/></composite>
            <composite name="C"><attribute name="x" attributeType="Composite" composite="Gone"/></composite>
            """,
            "2 error: A is a composite that contains itself",
            "3 error: B is a composite that contains itself",
            "4 error: C.x is made of an unknown composite 'Gone'"),
    ]
}
